#include <cstddef>
#include <vector>

#include "engine/cuda/kernels.h"
#include "engine/cuda/open.h"
#include "gpucast/devices/cuda/resources.h"
#include "gpucast/support/median.h"

namespace gpucast::microbench::cuda {
namespace {

using devices::cuda::check;
using devices::cuda::DeviceArray;
using devices::cuda::Event;
using devices::cuda::Stream;

// Blocking copies use the default stream, as a program does that knows of no other.
class CudaSkeleton : public Skeleton {
 public:
  CudaSkeleton(BufferPool& pool, const StepShape& shape)
      : Skeleton(shape),
        up_floats_(floats_of(shape.h2d_bytes)),
        down_floats_(floats_of(shape.gpus() * shape.d2h_bytes)),
        up_(pool.on_host(shape.devices.front(), shape.memory, Role::source, 0,
                         up_floats_ * sizeof(float))),
        down_(pool.on_host(shape.devices.front(), shape.memory, Role::destination, 0,
                           down_floats_ * sizeof(float))) {
    up_.seed.reset();
    down_.seed.reset();
    for (std::size_t k = 0; k < shape.devices.size(); ++k) {
      use(k);
      streams_.push_back(blocking() ? Stream() : Stream::independent());
      received_.emplace_back(up_bytes());
      held_.emplace_back(down_bytes());
      check(cudaMemset(held_.back().data(), std::to_integer<int>(mark(k)), down_bytes()),
            "cudaMemset");
      check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    }
  }

  // With events around it, as programs time their kernels.
  double kernel_seconds() override {
    use(0);
    const Event begin(cudaEventDefault);
    const Event end(cudaEventDefault);
    constexpr std::size_t several = 15;
    std::vector<double> seconds(several);
    for (double& sample : seconds) {
      check(cudaEventRecord(begin.get(), stream(0)), "cudaEventRecord");
      queue_spin(shape().busy, stream(0));
      check(cudaEventRecord(end.get(), stream(0)), "cudaEventRecord");
      check(cudaEventSynchronize(end.get()), "cudaEventSynchronize");
      sample = devices::cuda::seconds_between(begin, end);
    }
    return support::median(seconds);
  }

 private:
  void use(std::size_t k) const { check(cudaSetDevice(shape().devices[k]), "cudaSetDevice"); }
  cudaStream_t stream(std::size_t k) const { return streams_[k].get(); }

  void copy(std::size_t k, void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
    if (bytes == 0) return;
    use(k);
    if (blocking()) {
      check(cudaMemcpy(to, from, bytes, kind), "cudaMemcpy");
    } else {
      check(cudaMemcpyAsync(to, from, bytes, kind, stream(k)), "cudaMemcpyAsync");
    }
  }
  void upload(std::size_t k) override {
    copy(k, received_[k].data(), up_.data(), up_bytes(), cudaMemcpyHostToDevice);
  }
  void compute(std::size_t k) override {
    use(k);
    queue_spin(shape().busy, stream(k));
  }
  void download(std::size_t k) override {
    copy(k, static_cast<std::byte*>(down_.data()) + k * down_bytes(), held_[k].data(), down_bytes(),
         cudaMemcpyDeviceToHost);
  }
  void wait(std::size_t k) override {
    if (blocking()) return;  // the last copy has come
    use(k);
    check(cudaStreamSynchronize(stream(k)), "cudaStreamSynchronize");
  }
  std::span<float> sent() override { return {static_cast<float*>(up_.data()), up_floats_}; }
  std::span<float> received() override { return {static_cast<float*>(down_.data()), down_floats_}; }
  std::vector<std::byte> arrived(std::size_t k) override {
    std::vector<std::byte> bytes(up_bytes());
    use(k);
    check(cudaMemcpy(bytes.data(), received_[k].data(), up_bytes(), cudaMemcpyDeviceToHost),
          "cudaMemcpy");
    return bytes;
  }

  std::size_t up_floats_, down_floats_;
  Buffer& up_;  // on the host
  Buffer& down_;
  std::vector<Stream> streams_;
  std::vector<DeviceArray<std::byte>> received_, held_;
};

}  // namespace

std::unique_ptr<Skeleton> open_skeleton(BufferPool& pool, const StepShape& shape) {
  return std::make_unique<CudaSkeleton>(pool, shape);
}

}  // namespace gpucast::microbench::cuda
