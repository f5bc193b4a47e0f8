// CPU threads as devices: copies between ordinary memory, so that every machine has a path to
// measure.
#include <cstring>
#include <map>

#include "engine/engine.h"
#include "engine/numa.h"
#include "gpucast/devices/host/worker.h"
#include "gpucast/records/records.h"

namespace gpucast::microbench {
namespace {

using devices::Clock;
using devices::seconds_since;
using devices::host::Worker;
using devices::host::Workers;

class CpuLoops : public HostLoops {
 public:
  explicit CpuLoops(std::int64_t bytes)
      : in_(loop_inputs(floats_of_array(bytes))), out_(in_.size()) {}

  double allocate() override { return seconds_to_allocate(in_.size() * sizeof(float)); }
  double first_touch() override { return seconds_to_touch(in_.size() * sizeof(float)); }
  double copy() override { throw DeviceError("there is no GPU to copy to"); }

  double loop(LoopPattern pattern, Runner runner) override {
    if (runner == Runner::gpu) throw DeviceError("there is no GPU");
    const auto [entry, is_new] = lists_.try_emplace(pattern);
    if (is_new) entry->second = loop_list(pattern, in_.size());
    last_ = pattern;
    const auto begin = Clock::now();
    run_loop(out_.data(), in_.data(), entry->second, in_.size());
    return seconds_since(begin);
  }

  bool correct() override {
    const bool right = loop_is_correct(out_, lists_[last_]);
    out_.assign(out_.size(), -1);  // the next loop must not find the old results
    return right;
  }

 private:
  std::vector<float> in_;
  std::vector<float> out_;
  std::map<LoopPattern, std::vector<Index>> lists_;
  LoopPattern last_ = LoopPattern::sequential;
};

// Times a worker from the opening of a gate, before which everything is queued, to an end that is
// queued after it.
class GatedTimer {
 public:
  explicit GatedTimer(Worker& worker) : worker_(worker) {
    worker_.queue([this] {
      wait_for_gate();
      begin_ = Clock::now();
    });
  }
  ~GatedTimer() { open(); }
  GatedTimer(const GatedTimer&) = delete;
  GatedTimer& operator=(const GatedTimer&) = delete;

  void wait_for_gate() const { open_.wait(false, std::memory_order_acquire); }
  void end() {
    worker_.queue([this] { end_ = Clock::now(); });
  }
  // Opens the gate.
  double seconds() {
    open();
    worker_.wait();
    return std::chrono::duration<double>(end_ - begin_).count();
  }

 private:
  void open() {
    open_.store(true);  // ordered with the check of waiting threads in notify_all, as in Worker
    open_.notify_all();
  }

  Worker& worker_;
  std::atomic<bool> open_{false};
  Clock::time_point begin_, end_;
};

struct Buffers {
  std::vector<unsigned char> source;
  std::vector<unsigned char> destination;
};

class HostCopies : public CopySet {
 public:
  HostCopies(Workers& workers, std::span<const Copy> copies)
      : workers_(workers), copies_(copies.begin(), copies.end()), buffers_(copies.size()) {
    for (std::size_t k = 0; k < copies_.size(); ++k) {
      auto& [source, destination] = buffers_[k];
      source.resize(static_cast<std::size_t>(copies_[k].bytes));
      destination.resize(source.size());
      for (std::size_t i = 0; i < source.size(); ++i) {
        source[i] = pattern(i, static_cast<std::uint32_t>(k));
        destination[i] = static_cast<unsigned char>(~source[i]);
      }
    }
  }
  ~HostCopies() override {
    stop_ = true;
    for (const auto& worker : workers_)
      worker->wait_quietly();
  }
  HostCopies(const HostCopies&) = delete;
  HostCopies& operator=(const HostCopies&) = delete;

  double call() override {
    Worker& worker = worker_of(0);
    const auto begin = Clock::now();
    worker.queue([this] { move(0); });
    worker.wait();
    return seconds_since(begin);
  }

  double gated(int count) override {
    Worker& first = worker_of(0);
    stop_ = false;
    GatedTimer timer(first);
    for (int k = 0; k < count; ++k)
      first.queue([this] { move(0); });
    timer.end();
    first.queue([this] { stop_ = true; });
    // A thread has one queue: copies that share it with the first one follow it.
    for (std::size_t k = 1; k < copies_.size(); ++k) {
      worker_of(k).queue([this, &timer, k] {
        timer.wait_for_gate();
        do {
          move(k);
        } while (!stop_);
      });
    }
    const double seconds = timer.seconds();
    for (std::size_t k = 1; k < copies_.size(); ++k)
      worker_of(k).wait();
    return seconds;
  }

  double between_kernels(int count, Payload payload, int /*before*/) override {
    Worker& worker = worker_of(0);
    GatedTimer timer(worker);
    for (int k = 0; k < count; ++k) {
      if (payload == Payload::copies) worker.queue([this] { move(0); });
      worker.queue([] {});
    }
    timer.end();
    return timer.seconds();
  }

  bool correct() override {
    return std::ranges::all_of(buffers_,
                               [](const Buffers& b) { return b.source == b.destination; });
  }

 private:
  Worker& worker_of(std::size_t k) {
    return *workers_[static_cast<std::size_t>(issuer(copies_[k]))];
  }

  void move(std::size_t k) {
    std::memcpy(buffers_[k].destination.data(), buffers_[k].source.data(),
                buffers_[k].source.size());
  }

  Workers& workers_;
  std::vector<Copy> copies_;
  std::vector<Buffers> buffers_;
  std::atomic<bool> stop_{false};
};

class HostLaunches : public Launches {
 public:
  explicit HostLaunches(Worker& worker) : worker_(worker) {}

  double submit(int count) override {
    const auto begin = Clock::now();
    queue(count);
    const double taken = seconds_since(begin);
    worker_.wait();
    return taken;
  }
  double sync(int count) override {
    const auto begin = Clock::now();
    queue(count);
    worker_.wait();
    return seconds_since(begin);
  }
  double gated(int count) override {
    GatedTimer timer(worker_);
    queue(count);
    timer.end();
    return timer.seconds();
  }
  double graph(int /*count*/) override { throw DeviceError("CPU threads have no graphs"); }

 private:
  void queue(int count) {
    for (int k = 0; k < count; ++k)
      worker_.queue([] {});
  }

  Worker& worker_;
};

// As the last member of its owner, waits on destruction for the workers' remaining work with it.
class Drain {
 public:
  explicit Drain(Workers& workers) : workers_(workers) {}
  ~Drain() { wait(); }
  Drain(const Drain&) = delete;
  Drain& operator=(const Drain&) = delete;

  void wait() {
    for (const auto& worker : workers_)
      worker->wait_quietly();
  }

 private:
  Workers& workers_;
};

void queue_spin(Worker& worker, double seconds) {
  worker.queue([seconds] {
    const auto begin = Clock::now();
    while (seconds_since(begin) < seconds) {
    }
  });
}

class HostSkeleton : public Skeleton {
 public:
  HostSkeleton(Workers& workers, const StepShape& shape)
      : Skeleton(shape),
        workers_(workers),
        up_(floats_of(shape.h2d_bytes)),
        down_(floats_of(shape.gpus() * shape.d2h_bytes)) {
    for (std::size_t k = 0; k < shape.devices.size(); ++k)
      memories_.push_back(
          {std::vector<std::byte>(up_bytes()), std::vector<std::byte>(down_bytes(), mark(k))});
  }

  // A thread spins for exactly this time.
  double kernel_seconds() override { return shape().busy; }

 private:
  struct Memory {
    std::vector<std::byte> up, down;
  };
  Worker& worker(std::size_t k) { return *workers_[static_cast<std::size_t>(shape().devices[k])]; }

  void upload(std::size_t k) override {
    worker(k).queue(
        [this, k] { std::memcpy(memories_[k].up.data(), up_.data(), memories_[k].up.size()); });
    if (blocking()) wait(k);
  }
  void compute(std::size_t k) override { queue_spin(worker(k), shape().busy); }
  void download(std::size_t k) override {
    const auto offset = k * memories_[k].down.size();
    worker(k).queue([this, k, offset] {
      std::memcpy(std::as_writable_bytes(std::span(down_)).data() + offset,
                  memories_[k].down.data(), memories_[k].down.size());
    });
    if (blocking()) wait(k);
  }
  void wait(std::size_t k) override { worker(k).wait(); }
  std::span<float> sent() override { return up_; }
  std::span<float> received() override { return down_; }
  std::vector<std::byte> arrived(std::size_t k) override { return memories_[k].up; }

  Workers& workers_;
  std::vector<float> up_, down_;  // of the host
  std::vector<Memory> memories_;  // of the devices
  Drain drain_{workers_};
};

// A device runs the work of all its streams in the order of the calls; the work that an event waits
// for is therefore finished, or in progress on another device.
class HostTracedSteps : public TracedSteps {
 public:
  HostTracedSteps(Workers& workers, TracedProgram program)
      : TracedSteps(std::move(program)),
        workers_(workers),
        recorded_on_(static_cast<std::size_t>(this->program().events)) {
    for (auto& device : recorded_on_)
      device = TracedCall::none;
    const auto& calls = this->program().calls;
    const auto largest = std::ranges::max_element(calls, {}, &TracedCall::bytes);
    memories_.assign(workers_.size(), {Bytes(size_of(*largest)), Bytes(size_of(*largest))});
  }

 private:
  using Bytes = std::vector<std::byte>;
  struct Memory {
    Bytes host, device;
  };

  Worker& worker(int device) { return *workers_[static_cast<std::size_t>(device)]; }

  void make_call(const TracedCall& call, std::size_t /*number*/) override {
    Memory& memory = memories_[static_cast<std::size_t>(call.device)];
    switch (call.operation) {
      case Operation::launch:
        return queue_spin(worker(call.device), call.busy);
      case Operation::copy:
        return copy(call, memory);
      case Operation::set:
        return worker(call.device).queue([&memory, bytes = size_of(call)] {
          std::memset(memory.device.data(), 0, bytes);
        });
      case Operation::record:
        recorded_on_[static_cast<std::size_t>(call.event)] = call.device;
        break;
      case Operation::sync_stream:
      case Operation::sync_device:
        return worker(call.device).wait();
      case Operation::sync_event:
        return wait_for(call);
      default:
        break;  // memory exists, and awaited work is finished
    }
  }
  static std::size_t size_of(const TracedCall& call) {
    return static_cast<std::size_t>(call.bytes);
  }
  void copy(const TracedCall& call, Memory& memory) {
    const bool up = call.direction == Direction::h2d;
    worker(call.device).queue([&memory, up, bytes = size_of(call)] {
      Bytes& to = up ? memory.device : memory.host;
      const Bytes& from = up ? memory.host : memory.device;
      std::memcpy(to.data(), from.data(), bytes);
    });
    if (call.blocking) worker(call.device).wait();
  }
  void wait_for(const TracedCall& call) {
    if (call.event == TracedCall::none) return;
    const int device = recorded_on_[static_cast<std::size_t>(call.event)];
    if (device != TracedCall::none) worker(device).wait();
  }
  void settle() override { drain_.wait(); }

  Workers& workers_;
  std::vector<Memory> memories_;
  std::vector<std::atomic<int>> recorded_on_;  // device of each event
  Drain drain_{workers_};
};

class HostEngine : public Engine {
 public:
  explicit HostEngine(int count) {
    for (int k = 0; k < count; ++k)
      workers_.push_back(std::make_unique<Worker>("host device " + std::to_string(k)));
  }

  schema::Path path() const override { return schema::Path::host; }
  int count() const override { return static_cast<int>(workers_.size()); }
  std::vector<records::Gpu> devices() const override {
    std::ifstream cpuinfo("/proc/cpuinfo");
    const records::Gpu thread{.name = records::cpu_model(cpuinfo).value_or("CPU") + ", one thread"};
    return std::vector<records::Gpu>(workers_.size(), thread);
  }

  std::optional<std::string> refuses(const Copy& copy,
                                     records::TransferMethod /*method*/) const override {
    if (copy.memory != records::Memory::pageable) return "CPU devices have pageable memory only";
    if (copy.engine != records::Engine::copy) return "CPU devices copy in one way only";
    if (copy.staged) return "nothing is staged between CPU devices";
    return std::nullopt;
  }
  std::optional<std::string> refuses(records::LaunchMethod method) const override {
    if (method == records::LaunchMethod::graph) return "CPU devices have no graphs";
    return std::nullopt;
  }
  std::optional<std::string> refuses_overlap() const override {
    return "a CPU device does one thing at a time";
  }
  std::optional<std::string> refuses_loops(records::Memory /*memory*/,
                                           Runner runner) const override {
    if (runner == Runner::gpu) return "there is no GPU";
    return std::nullopt;
  }

  void warm_up(double wanted) override {
    const auto begin = Clock::now();
    while (seconds_since(begin) < wanted) {
      for (const auto& worker : workers_)
        worker->queue([] {});
      for (const auto& worker : workers_)
        worker->wait();
    }
  }

  std::unique_ptr<CopySet> open(std::span<const Copy> copies) override {
    return std::make_unique<HostCopies>(workers_, copies);
  }
  std::unique_ptr<Launches> launches(int device, int /*arguments*/) override {
    return std::make_unique<HostLaunches>(*workers_[static_cast<std::size_t>(device)]);
  }
  std::unique_ptr<Overlaps> overlaps(int /*device*/, std::int64_t /*bytes*/) override {
    throw DeviceError("a CPU device does one thing at a time");
  }
  std::unique_ptr<Skeleton> skeleton(const StepShape& shape) override {
    return std::make_unique<HostSkeleton>(workers_, shape);
  }
  std::unique_ptr<TracedSteps> traced_steps(const TracedProgram& program) override {
    return std::make_unique<HostTracedSteps>(workers_, program);
  }
  std::unique_ptr<HostLoops> host_loops(int /*device*/, records::Memory /*memory*/,
                                        std::int64_t bytes) override {
    return std::make_unique<CpuLoops>(bytes);
  }

 private:
  Workers workers_;
};

}  // namespace

std::unique_ptr<Engine> host_engine(int count) {
  return std::make_unique<HostEngine>(count > 0 ? count
                                                : static_cast<int>(records::allowed_cores()));
}

#ifndef GPUCAST_HAS_CUDA
std::unique_ptr<Engine> cuda_engine(std::string& why_not) {
  why_not = "this program was built without CUDA";
  return nullptr;
}
#endif

}  // namespace gpucast::microbench
