#include <algorithm>
#include <cstddef>
#include <cstring>
#include <deque>
#include <mutex>
#include <vector>

#include "engine/host/open.h"
#include "engine/traced_steps.h"
#include "gpucast/devices/clock.h"

namespace gpucast::microbench {
namespace {

using devices::host::Worker;
using devices::host::Workers;

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
  ~HostSkeleton() override {
    for (std::size_t k = 0; k < memories_.size(); ++k)
      worker(k).wait_quietly();
  }
  HostSkeleton(const HostSkeleton&) = delete;
  HostSkeleton& operator=(const HostSkeleton&) = delete;

  // A thread spins exactly so long.
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
  void compute(std::size_t k) override {
    worker(k).queue([seconds = shape().busy] {
      const auto begin = devices::Clock::now();
      while (devices::seconds_since(begin) < seconds) {
      }
    });
  }
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
};

}  // namespace

std::unique_ptr<Skeleton> host_skeleton(Workers& workers, const StepShape& shape) {
  return std::make_unique<HostSkeleton>(workers, shape);
}

namespace {

using devices::host::Worker;
using devices::host::Workers;

// A device does what all its streams were given in the order in which it was asked for; so what an
// event waits for is done, or under way on another device.
class HostTracedSteps : public TracedSteps {
 public:
  HostTracedSteps(Workers& workers, TracedProgram program)
      : TracedSteps(std::move(program)),
        workers_(workers),
        recorded_on_(static_cast<std::size_t>(this->program().events), TracedCall::none) {
    std::int64_t largest = 0;
    for (const TracedCall& call : this->program().calls)
      largest = std::max(largest, call.bytes);
    for (std::size_t k = 0; k < workers_.size(); ++k)
      memories_.push_back(
          {Bytes(static_cast<std::size_t>(largest)), Bytes(static_cast<std::size_t>(largest))});
  }
  ~HostTracedSteps() override { finish(); }
  HostTracedSteps(const HostTracedSteps&) = delete;
  HostTracedSteps& operator=(const HostTracedSteps&) = delete;

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
        spin(call);
        break;
      case Operation::copy:
        copy(call, memory);
        break;
      case Operation::set:
        worker(call.device).queue([&memory, bytes = size_of(call)] {
          std::memset(memory.device.data(), 0, bytes);
        });
        break;
      case Operation::record:
        note(call);
        break;
      case Operation::sync_stream:
      case Operation::sync_device:
        worker(call.device).wait();
        break;
      case Operation::sync_event:
        wait_for(call);
        break;
      default:
        break;  // memory is there, and what streams wait for is done
    }
  }
  static std::size_t size_of(const TracedCall& call) {
    return static_cast<std::size_t>(call.bytes);
  }
  void spin(const TracedCall& call) {
    worker(call.device).queue([seconds = call.busy] {
      const auto begin = devices::Clock::now();
      while (devices::seconds_since(begin) < seconds) {
      }
    });
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
  void note(const TracedCall& call) {
    const std::scoped_lock lock(mutex_);
    recorded_on_[static_cast<std::size_t>(call.event)] = call.device;
  }
  void wait_for(const TracedCall& call) {
    if (call.event == TracedCall::none) return;
    int device = TracedCall::none;
    {
      const std::scoped_lock lock(mutex_);
      device = recorded_on_[static_cast<std::size_t>(call.event)];
    }
    if (device != TracedCall::none) worker(device).wait();
  }
  void finish() {
    for (const auto& worker : workers_)
      worker->wait_quietly();
  }
  void settle() override { finish(); }

  Workers& workers_;
  std::deque<Memory> memories_;
  std::mutex mutex_;
  std::vector<int> recorded_on_;  // device of each event
};

}  // namespace

std::unique_ptr<TracedSteps> host_traced_steps(Workers& workers, TracedProgram program) {
  return std::make_unique<HostTracedSteps>(workers, std::move(program));
}

}  // namespace gpucast::microbench
