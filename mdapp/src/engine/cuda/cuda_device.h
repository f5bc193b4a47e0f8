// A GPU as a Device, and what connects several of them.
#pragma once

#include <cuda_runtime.h>

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "engine/engine.h"
#include "gpucast/devices/cuda/resources.h"
#include "kernels/cuda/launch.h"

namespace gpucast::mdapp::cuda {

using devices::cuda::check;
using devices::cuda::DeviceArray;
using devices::cuda::Event;
using devices::cuda::Stream;

class CudaDevice : public Device {
 public:
  CudaDevice(int device, const Workload& workload);

  void upload(std::span<const Position> positions) override;
  void compute(Output output) override;
  void download(std::span<Force> forces) override;
  void download(std::span<PairSums> sums) override;

  void upload_state(std::span<const double> r, std::span<const double> v) override;
  void download_state(std::span<double> r, std::span<double> v) override;
  void before_forces(const Motion& motion, IntegratorKind kind) override;
  void sum_up() override;
  void after_forces(const Motion& motion, IntegratorKind kind) override;
  bool overlapped() override;

  void mark(int slot) override;
  void wait() override;
  double seconds_between(int first, int second) override;
  Traffic traffic() const override { return traffic_; }

  // For Exchange and Recording.
  int device() const { return device_; }
  cudaStream_t stream() const { return stream_.get(); }
  Position* positions() const { return positions_.data(); }
  StepSums* sums() const { return step_sums_.data(); }
  const Workload& workload() const { return workload_; }
  // What others copy for it: an exchange, a graph each time that it is replayed.
  void count(const Traffic& traffic) { traffic_ = traffic_ + traffic; }
  void use() const;  // makes it the thread's current device

 private:
  State state();
  ForceArguments arguments(Output output);
  template <class T>
  void download(std::span<T> to, const DeviceArray<T>& from);
  void copy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) const;

  int device_;
  Workload workload_;
  Stream stream_;
  Division division_{};
  DeviceArray<Position> positions_;
  DeviceArray<Force> forces_;
  DeviceArray<PairSums> pair_sums_;
  DeviceArray<double> partial_;
  DeviceArray<unsigned> arrived_;
  // State for integration on the GPU; empty until the state is uploaded.
  DeviceArray<double> r_;
  DeviceArray<double> v_;
  DeviceArray<StepSums> step_sums_;
  DeviceArray<double> friction_;
  DeviceArray<int> steps_;
  DeviceArray<int> overlapped_;
  DeviceArray<Motion> motion_;
  std::vector<Event> events_;
  Traffic traffic_;
};

// Elements of the array of all positions: whole slices, so that an in-place all-gather fits.
std::size_t padded_positions(const Workload& workload);

// How `tuned` divides a workload, 0 0 0 for the other kernel; for the current device.
Division division_of(const Workload& workload);

// By NCCL, which is opened now: only allgather needs it, and a machine without it can run the rest.
// std::runtime_error with one line where none can be loaded (GPUCAST_NCCL may name the file).
std::unique_ptr<Exchange> nccl_exchange(std::vector<CudaDevice*> devices);

// As Engine::record, in one CUDA graph.
std::function<void()> record_graph(const std::vector<CudaDevice*>& devices,
                                   const std::function<void()>& queue);

}  // namespace gpucast::mdapp::cuda
