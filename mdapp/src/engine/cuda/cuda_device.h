// A GPU as a Device.
#pragma once

#include "engine/engine.h"
#include "gpucast/devices/cuda/resources.h"
#include "kernels/cuda/launch.h"

namespace gpucast::mdapp::cuda {

using devices::cuda::check;
using devices::cuda::DeviceArray;
using devices::cuda::Event;
using devices::cuda::Stream;

// Number of elements of the array of all positions: whole slices, so that an in-place all-gather
// fits. The last slices may be short or empty; with slices of equal length the array extends beyond
// n.
inline std::size_t padded_positions(const Workload& workload) {
  const Slice longest = slice_of(workload.n, workload.devices, 0);
  return static_cast<std::size_t>(longest.count) * static_cast<std::size_t>(workload.devices);
}

// The division of a workload by `tuned` on the current device; 0 0 0 for the other kernel.
inline Division division_of(const Workload& workload) {
  if (workload.kernel.name != KernelName::tuned || workload.slice.count == 0) return {};
  return divide(workload.kernel, workload.n, workload.slice.count);
}

class CudaDevice : public Device {
 public:
  CudaDevice(int device, const Workload& workload) : device_(device), workload_(workload) {
    use();
    if (workload.copies == Copies::queued) stream_ = Stream::independent();
    if (workload_.kernel.block == 0) workload_.kernel.block = default_block(workload_.kernel.name);
    division_ = division_of(workload_);
    const auto slice = static_cast<std::size_t>(workload_.slice.count);
    positions_ = DeviceArray<Position>(padded_positions(workload_));
    forces_ = DeviceArray<Force>(slice);
    pair_sums_ = DeviceArray<PairSums>(slice);
    if (division_.j_split > 1) {
      partial_ = DeviceArray<double>(slice * partial_components *
                                     static_cast<std::size_t>(division_.j_split));
      arrived_ = DeviceArray<unsigned>(slice);  // more than there are blocks
    }
    wait_for_queue();
  }

  void upload(std::span<const Position> positions) override {
    copy(positions_.data(), positions.data(), positions.size_bytes(), cudaMemcpyHostToDevice);
    traffic_.h2d += static_cast<std::int64_t>(positions.size_bytes());
  }
  void compute(Output output) override {
    if (workload_.slice.count == 0) return;
    use();
    const ForceArguments arguments{
        .positions = positions_.data(),
        .forces = forces_.data(),
        .sums = output == Output::forces_and_sums ? pair_sums_.data() : nullptr,
        .n = workload_.n,
        .cations = workload_.cations,
        .slice = workload_.slice,
        .field = workload_.field,
        .boundary = workload_.boundary,
        .partial = partial_.data(),
        .arrived = arrived_.data()};
    if (workload_.kernel.name == KernelName::claret)
      launch_claret(arguments, workload_.kernel.block, stream());
    else
      launch_tuned(arguments, division_, stream());
    check(cudaGetLastError(), "launch of the force kernel");
  }
  void download(std::span<Force> forces) override { download(forces, forces_); }
  void download(std::span<PairSums> sums) override { download(sums, pair_sums_); }

  void upload_state(std::span<const double> r, std::span<const double> v) override {
    use();
    r_ = DeviceArray<double>(r.size());
    v_ = DeviceArray<double>(v.size());
    step_sums_ = DeviceArray<StepSums>(1);
    friction_ = DeviceArray<double>(1);
    steps_ = DeviceArray<int>(1);
    overlapped_ = DeviceArray<int>(1);
    motion_ = DeviceArray<Motion>(1);
    copy_now(r_.data(), r.data(), r.size_bytes(), cudaMemcpyHostToDevice);
    copy_now(v_.data(), v.data(), v.size_bytes(), cudaMemcpyHostToDevice);
    // The default stream's work and the device's own stream do not wait for one another.
    check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  }
  void download_state(std::span<double> r, std::span<double> v) override {
    wait();
    copy_now(r.data(), r_.data(), r.size_bytes(), cudaMemcpyDeviceToHost);
    copy_now(v.data(), v_.data(), v.size_bytes(), cudaMemcpyDeviceToHost);
  }
  void before_forces(const Motion& motion, IntegratorKind kind) override {
    if (workload_.slice.count == 0) return;
    use();
    launch_before_forces(state(), motion, kind, stream());
    check(cudaGetLastError(), "launch of before_forces");
  }
  void sum_up() override {
    if (workload_.slice.count == 0) return;
    use();
    launch_sum_up(state(), stream());
    check(cudaGetLastError(), "launch of sum_up");
  }
  void after_forces(const Motion& motion, IntegratorKind kind) override {
    use();
    launch_after_forces(state(), motion, kind, motion_.data(), stream());
    check(cudaGetLastError(), "launch of after_forces");
  }
  bool overlapped() override {
    wait();
    int flag = 0;
    if (overlapped_.size() > 0)
      copy_now(&flag, overlapped_.data(), sizeof flag, cudaMemcpyDeviceToHost);
    return flag != 0;
  }

  void mark(int slot) override {
    use();
    while (events_.size() <= static_cast<std::size_t>(slot))
      events_.emplace_back(cudaEventDefault);
    events_[static_cast<std::size_t>(slot)].record(stream());
  }
  void wait() override { wait_for_queue(); }
  double seconds_between(int first, int second) override {
    return devices::cuda::seconds_between(events_[static_cast<std::size_t>(first)],
                                          events_[static_cast<std::size_t>(second)]);
  }
  Traffic traffic() const override { return traffic_; }

  // For Exchange and Recording.
  int device() const { return device_; }
  cudaStream_t stream() const { return stream_.get(); }
  Position* positions() const { return positions_.data(); }
  StepSums* sums() const { return step_sums_.data(); }
  const Workload& workload() const { return workload_; }
  // Counts bytes that others copy for it: an exchange, or a graph each time it is replayed.
  void count(const Traffic& traffic) { traffic_ = traffic_ + traffic; }
  // Makes it the thread's current device.
  void use() const { check(cudaSetDevice(device_), "cudaSetDevice"); }

 private:
  void wait_for_queue() const {
    use();
    check(cudaStreamSynchronize(stream()), "cudaStreamSynchronize");
  }
  State state() {
    return {.r = r_.data(),
            .v = v_.data(),
            .forces = forces_.data(),
            .positions = positions_.data(),
            .sums = step_sums_.data(),
            .friction = friction_.data(),
            .steps = steps_.data(),
            .overlapped = overlapped_.data(),
            .n = workload_.n,
            .cations = workload_.cations,
            .slice = workload_.slice};
  }
  template <class T>
  void download(std::span<T> to, const DeviceArray<T>& from) {
    copy(to.data(), from.data(), to.size_bytes(), cudaMemcpyDeviceToHost);
    traffic_.d2h += static_cast<std::int64_t>(to.size_bytes());
  }
  static void copy_now(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
    if (bytes > 0) check(cudaMemcpy(to, from, bytes, kind), "cudaMemcpy");
  }
  void copy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) const {
    if (bytes == 0) return;
    use();
    if (workload_.copies == Copies::blocking) return copy_now(to, from, bytes, kind);
    check(cudaMemcpyAsync(to, from, bytes, kind, stream()), "cudaMemcpyAsync");
  }

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
  DeviceArray<double> r_, v_;
  DeviceArray<StepSums> step_sums_;
  DeviceArray<double> friction_;
  DeviceArray<int> steps_, overlapped_;
  DeviceArray<Motion> motion_;
  std::vector<Event> events_;
  Traffic traffic_;
};

// An exchange by NCCL, which is opened now: only allgather needs it, and other schedules run
// without it. Throws std::runtime_error with one line if it cannot be loaded (GPUCAST_NCCL may name
// the file).
std::unique_ptr<Exchange> nccl_exchange(std::vector<CudaDevice*> devices);

}  // namespace gpucast::mdapp::cuda
