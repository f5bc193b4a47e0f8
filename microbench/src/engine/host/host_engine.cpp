// CPU threads as devices: copies between ordinary memory, so that every machine has a path to
// measure.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <fstream>
#include <map>
#include <vector>

#include "engine/host/open.h"
#include "engine/loop.h"
#include "engine/numa.h"
#include "gpucast/devices/clock.h"
#include "gpucast/records/this_machine.h"

namespace gpucast::microbench {
namespace {

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
    const auto begin = devices::Clock::now();
    run_loop(out_.data(), in_.data(), entry->second, in_.size());
    return devices::seconds_since(begin);
  }

  bool correct() override {
    const bool right = loop_is_correct(out_, lists_[last_]);
    out_.assign(out_.size(), -1);  // the next loop must not find these
    return right;
  }

 private:
  std::vector<float> in_;
  std::vector<float> out_;
  std::map<LoopPattern, std::vector<Index>> lists_;
  LoopPattern last_ = LoopPattern::sequential;
};

}  // namespace

std::unique_ptr<HostLoops> cpu_loops(std::int64_t bytes) {
  return std::make_unique<CpuLoops>(bytes);
}

namespace {

using devices::Clock;
using devices::seconds_since;
using devices::host::Worker;
using devices::host::Workers;

// Times what a worker does between the opening of a gate, before which all of it is queued, and an
// end that is queued behind it.
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
    open_.store(true);  // in order with the look of notify_all for who waits, as in Worker
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
      const auto size = static_cast<std::size_t>(copies_[k].bytes);
      buffers_[k].source.resize(size);
      buffers_[k].destination.assign(size, 0);
      for (std::size_t i = 0; i < size; ++i)
        buffers_[k].source[i] = pattern(i, static_cast<std::uint32_t>(k));
      for (std::size_t i = 0; i < size; ++i)
        buffers_[k].destination[i] = static_cast<unsigned char>(~buffers_[k].source[i]);
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
    // A thread has one queue: what it shares with the first copy comes behind it.
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

  void next_queue() override {}  // a thread has one
  Batch batch() const override { return {}; }

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

  void next_queue() override {}  // a thread has one
  double submit(int count) override {
    const auto begin = Clock::now();
    for (int k = 0; k < count; ++k)
      worker_.queue([] {});
    const double taken = seconds_since(begin);
    worker_.wait();
    return taken;
  }
  double sync(int count) override {
    const auto begin = Clock::now();
    for (int k = 0; k < count; ++k)
      worker_.queue([] {});
    worker_.wait();
    return seconds_since(begin);
  }
  double gated(int count) override {
    GatedTimer timer(worker_);
    for (int k = 0; k < count; ++k)
      worker_.queue([] {});
    timer.end();
    return timer.seconds();
  }
  double graph(int /*count*/) override { throw DeviceError("CPU threads have no graphs"); }

 private:
  Worker& worker_;
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
    return host_skeleton(workers_, shape);
  }
  std::unique_ptr<TracedSteps> traced_steps(const TracedProgram& program) override {
    return host_traced_steps(workers_, program);
  }
  std::unique_ptr<HostLoops> host_loops(int /*device*/, records::Memory /*memory*/,
                                        std::int64_t bytes) override {
    return cpu_loops(bytes);
  }

 private:
  Workers workers_;
};

}  // namespace

std::unique_ptr<Engine> host_engine(int count) {
  return std::make_unique<HostEngine>(count > 0 ? count
                                                : static_cast<int>(records::allowed_cores()));
}

}  // namespace gpucast::microbench
