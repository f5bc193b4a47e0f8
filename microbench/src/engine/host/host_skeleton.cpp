#include <cstddef>
#include <cstring>
#include <vector>

#include "engine/host/open.h"
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

}  // namespace gpucast::microbench
