#include "engine/cuda/cuda_device.h"

#include <memory>
#include <stdexcept>
#include <type_traits>
#include <vector>

namespace gpucast::mdapp::cuda {

// The last slices may be short or empty: with slices as long as the first the array ends beyond n.
std::size_t padded_positions(const Workload& workload) {
  const Slice longest = slice_of(workload.n, workload.devices, 0);
  return static_cast<std::size_t>(longest.count) * static_cast<std::size_t>(workload.devices);
}

Division division_of(const Workload& workload) {
  if (workload.kernel.name != KernelName::tuned || workload.slice.count == 0) return {};
  return divide(workload.kernel, workload.n, workload.slice.count);
}

CudaDevice::CudaDevice(int device, const Workload& workload)
    : device_(device), workload_(workload) {
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
  wait();
}

void CudaDevice::use() const { check(cudaSetDevice(device_), "cudaSetDevice"); }

void CudaDevice::copy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) const {
  if (bytes == 0) return;
  use();
  if (workload_.copies == Copies::blocking) {
    check(cudaMemcpy(to, from, bytes, kind), "cudaMemcpy");
  } else {
    check(cudaMemcpyAsync(to, from, bytes, kind, stream()), "cudaMemcpyAsync");
  }
}

void CudaDevice::upload(std::span<const Position> positions) {
  copy(positions_.data(), positions.data(), positions.size_bytes(), cudaMemcpyHostToDevice);
  traffic_.h2d += static_cast<std::int64_t>(positions.size_bytes());
}

template <class T>
void CudaDevice::download(std::span<T> to, const DeviceArray<T>& from) {
  copy(to.data(), from.data(), to.size_bytes(), cudaMemcpyDeviceToHost);
  traffic_.d2h += static_cast<std::int64_t>(to.size_bytes());
}

void CudaDevice::download(std::span<Force> forces) { download(forces, forces_); }
void CudaDevice::download(std::span<PairSums> sums) { download(sums, pair_sums_); }

ForceArguments CudaDevice::arguments(Output output) {
  return {.positions = positions_.data(),
          .forces = forces_.data(),
          .sums = output == Output::forces_and_sums ? pair_sums_.data() : nullptr,
          .n = workload_.n,
          .cations = workload_.cations,
          .slice = workload_.slice,
          .field = workload_.field,
          .boundary = workload_.boundary,
          .partial = partial_.data(),
          .arrived = arrived_.data()};
}

void CudaDevice::compute(Output output) {
  if (workload_.slice.count == 0) return;
  use();
  if (workload_.kernel.name == KernelName::claret) {
    launch_claret(arguments(output), workload_.kernel.block, stream());
  } else {
    launch_tuned(arguments(output), division_, stream());
  }
  check(cudaGetLastError(), "launch of the force kernel");
}

void CudaDevice::upload_state(std::span<const double> r, std::span<const double> v) {
  use();
  r_ = DeviceArray<double>(r.size());
  v_ = DeviceArray<double>(v.size());
  step_sums_ = DeviceArray<StepSums>(1);
  friction_ = DeviceArray<double>(1);
  steps_ = DeviceArray<int>(1);
  overlapped_ = DeviceArray<int>(1);
  motion_ = DeviceArray<Motion>(1);
  if (!r.empty()) {
    check(cudaMemcpy(r_.data(), r.data(), r.size_bytes(), cudaMemcpyHostToDevice), "cudaMemcpy");
    check(cudaMemcpy(v_.data(), v.data(), v.size_bytes(), cudaMemcpyHostToDevice), "cudaMemcpy");
  }
  // The default stream's work and the device's own stream do not wait for one another.
  check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
}

void CudaDevice::download_state(std::span<double> r, std::span<double> v) {
  wait();
  if (r.empty()) return;
  check(cudaMemcpy(r.data(), r_.data(), r.size_bytes(), cudaMemcpyDeviceToHost), "cudaMemcpy");
  check(cudaMemcpy(v.data(), v_.data(), v.size_bytes(), cudaMemcpyDeviceToHost), "cudaMemcpy");
}

State CudaDevice::state() {
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

void CudaDevice::before_forces(const Motion& motion, IntegratorKind kind) {
  if (workload_.slice.count == 0) return;
  use();
  launch_before_forces(state(), motion, kind, stream());
  check(cudaGetLastError(), "launch of before_forces");
}

void CudaDevice::sum_up() {
  if (workload_.slice.count == 0) return;
  use();
  launch_sum_up(state(), stream());
  check(cudaGetLastError(), "launch of sum_up");
}

void CudaDevice::after_forces(const Motion& motion, IntegratorKind kind) {
  use();
  launch_after_forces(state(), motion, kind, motion_.data(), stream());
  check(cudaGetLastError(), "launch of after_forces");
}

bool CudaDevice::overlapped() {
  wait();
  int flag = 0;
  if (overlapped_.size() > 0) {
    check(cudaMemcpy(&flag, overlapped_.data(), sizeof flag, cudaMemcpyDeviceToHost), "cudaMemcpy");
  }
  return flag != 0;
}

void CudaDevice::mark(int slot) {
  use();
  while (events_.size() <= static_cast<std::size_t>(slot))
    events_.emplace_back(cudaEventDefault);
  check(cudaEventRecord(events_[static_cast<std::size_t>(slot)].get(), stream()),
        "cudaEventRecord");
}

void CudaDevice::wait() {
  use();
  check(cudaStreamSynchronize(stream()), "cudaStreamSynchronize");
}

double CudaDevice::seconds_between(int first, int second) {
  return devices::cuda::seconds_between(events_[static_cast<std::size_t>(first)],
                                        events_[static_cast<std::size_t>(second)]);
}

namespace {

// The first device's stream forks into the others' and joins them again.
cudaGraph_t capture(std::span<CudaDevice* const> devices, const std::function<void()>& queue) {
  const CudaDevice& origin = *devices.front();
  const auto others = devices.subspan(1);
  origin.use();
  const cudaError_t begun =
      cudaStreamBeginCapture(origin.stream(), cudaStreamCaptureModeThreadLocal);
  if (begun == cudaErrorNotSupported) {
    cudaGetLastError();
    throw std::runtime_error("this CUDA runtime records no graphs");
  }
  check(begun, "cudaStreamBeginCapture");
  std::vector<Event> events;
  const auto follow = [&events](const CudaDevice& device, const CudaDevice& leader) {
    leader.use();
    events.emplace_back(cudaEventDisableTiming);
    check(cudaEventRecord(events.back().get(), leader.stream()), "cudaEventRecord");
    device.use();
    check(cudaStreamWaitEvent(device.stream(), events.back().get(), 0), "cudaStreamWaitEvent");
  };
  cudaGraph_t graph = nullptr;
  try {
    for (const CudaDevice* device : others)
      follow(*device, origin);
    queue();
    for (const CudaDevice* device : others)
      follow(origin, *device);
  } catch (...) {
    // What was captured so far is worth nothing.
    cudaStreamEndCapture(origin.stream(), &graph);
    if (graph != nullptr) cudaGraphDestroy(graph);
    throw;
  }
  origin.use();
  check(cudaStreamEndCapture(origin.stream(), &graph), "cudaStreamEndCapture");
  return graph;
}

}  // namespace

std::function<void()> record_graph(const std::vector<CudaDevice*>& devices,
                                   const std::function<void()>& queue) {
  std::vector<Traffic> of_one_replay;
  of_one_replay.reserve(devices.size());
  for (const CudaDevice* device : devices)
    of_one_replay.push_back(device->traffic());
  const std::shared_ptr<std::remove_pointer_t<cudaGraph_t>> graph(capture(devices, queue),
                                                                  cudaGraphDestroy);
  cudaGraphExec_t executable = nullptr;
  check(cudaGraphInstantiate(&executable, graph.get(), 0), "cudaGraphInstantiate");
  const std::shared_ptr<std::remove_pointer_t<cudaGraphExec_t>> owner(executable,
                                                                      cudaGraphExecDestroy);
  // Nothing was copied yet.
  for (std::size_t g = 0; g < devices.size(); ++g) {
    of_one_replay[g] = devices[g]->traffic() - of_one_replay[g];
    devices[g]->count(Traffic{} - of_one_replay[g]);
  }
  // Behind all that the devices' streams hold, as far as it was waited for: schedules wait for
  // every device before and after.
  return [devices, of_one_replay, owner] {
    devices.front()->use();
    check(cudaGraphLaunch(owner.get(), devices.front()->stream()), "cudaGraphLaunch");
    for (std::size_t g = 0; g < devices.size(); ++g)
      devices[g]->count(of_one_replay[g]);
  };
}

}  // namespace gpucast::mdapp::cuda
