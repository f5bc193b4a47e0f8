#include "engine/host/host_skeleton.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "gpucast/devices/clock.h"
#include "gpucast/devices/error.h"

namespace gpucast::microbench {
namespace {

using devices::host::Worker;
using devices::host::Workers;

class HostSkeleton : public Skeleton {
 public:
  HostSkeleton(Workers& workers, const StepShape& shape)
      : Skeleton(shape),
        workers_(workers),
        blocking_(shape.schedule == records::Schedule::star_serial),
        up_(floats_of(shape.h2d_bytes)),
        down_(floats_of(shape.gpus() * shape.d2h_bytes)) {
    const auto up = static_cast<std::size_t>(shape.h2d_bytes);
    const auto down = static_cast<std::size_t>(shape.d2h_bytes);
    for (std::size_t k = 0; k < shape.devices.size(); ++k)
      memories_.push_back({std::vector<unsigned char>(up),
                           std::vector<unsigned char>(down, static_cast<unsigned char>(k + 1))});
  }
  ~HostSkeleton() override {
    for (std::size_t k = 0; k < memories_.size(); ++k) {
      try {
        wait(k);
      } catch (const devices::DeviceError&) {
        continue;  // thrown before, where the step was waited for
      }
    }
  }
  HostSkeleton(const HostSkeleton&) = delete;
  HostSkeleton& operator=(const HostSkeleton&) = delete;

  // A thread spins exactly so long.
  double kernel_seconds() override { return shape().busy; }

  bool correct() override {
    std::ranges::fill(down_, 0);
    step();
    const auto* const up = reinterpret_cast<const unsigned char*>(up_.data());
    const auto* down = reinterpret_cast<const unsigned char*>(down_.data());
    for (const Memory& memory : memories_) {
      if (!std::ranges::equal(memory.up, std::span(up, memory.up.size())) ||
          !std::ranges::equal(memory.down, std::span(down, memory.down.size()))) {
        return false;
      }
      down += memory.down.size();
    }
    return true;
  }

 private:
  struct Memory {
    std::vector<unsigned char> up, down;
  };
  Worker& worker(std::size_t k) { return *workers_[static_cast<std::size_t>(shape().devices[k])]; }

  void upload(std::size_t k) override {
    worker(k).queue(
        [this, k] { std::memcpy(memories_[k].up.data(), up_.data(), memories_[k].up.size()); });
    if (blocking_) wait(k);
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
      std::memcpy(reinterpret_cast<unsigned char*>(down_.data()) + offset, memories_[k].down.data(),
                  memories_[k].down.size());
    });
    if (blocking_) wait(k);
  }
  void wait(std::size_t k) override { worker(k).wait(); }
  std::span<float> sent() override { return up_; }
  std::span<const float> received() override { return down_; }

  Workers& workers_;
  bool blocking_;
  std::vector<float> up_, down_;  // of the host
  std::vector<Memory> memories_;  // of the devices
};

}  // namespace

std::unique_ptr<Skeleton> host_skeleton(Workers& workers, const StepShape& shape) {
  return std::make_unique<HostSkeleton>(workers, shape);
}

}  // namespace gpucast::microbench
