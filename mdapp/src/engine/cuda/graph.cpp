// Operations on several GPUs, recorded as one CUDA graph.
#include <memory>
#include <stdexcept>
#include <type_traits>
#include <vector>

#include "engine/cuda/cuda_device.h"

namespace gpucast::mdapp::cuda {
namespace {

// Ends a capture that an exception left open; its graph is worth nothing.
class CaptureGuard {
 public:
  explicit CaptureGuard(cudaStream_t stream) : stream_(stream) {}
  ~CaptureGuard() {
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    if (cudaStreamIsCapturing(stream_, &status) == cudaSuccess &&
        status != cudaStreamCaptureStatusNone) {
      cudaGraph_t left = nullptr;
      cudaStreamEndCapture(stream_, &left);
      if (left != nullptr) cudaGraphDestroy(left);
    }
  }
  CaptureGuard(const CaptureGuard&) = delete;
  CaptureGuard& operator=(const CaptureGuard&) = delete;

 private:
  cudaStream_t stream_;
};

Event untimed() { return Event(cudaEventDisableTiming); }

// The first device's stream forks into the others' and joins them again.
cudaGraph_t capture(std::span<CudaDevice* const> devices, const std::function<void()>& queue) {
  CudaDevice& origin = *devices.front();
  const auto others = devices.subspan(1);
  origin.use();
  const cudaError_t begun =
      cudaStreamBeginCapture(origin.stream(), cudaStreamCaptureModeThreadLocal);
  if (begun == cudaErrorNotSupported) {
    cudaGetLastError();
    throw std::runtime_error("this CUDA runtime records no graphs");
  }
  check(begun, "cudaStreamBeginCapture");
  const CaptureGuard guard(origin.stream());
  const Event fork = untimed();
  check(cudaEventRecord(fork.get(), origin.stream()), "cudaEventRecord");
  for (CudaDevice* device : others) {
    device->use();
    check(cudaStreamWaitEvent(device->stream(), fork.get(), 0), "cudaStreamWaitEvent");
  }
  queue();
  std::vector<Event> joins;
  for (CudaDevice* device : others) {
    device->use();
    joins.push_back(untimed());
    check(cudaEventRecord(joins.back().get(), device->stream()), "cudaEventRecord");
    check(cudaStreamWaitEvent(origin.stream(), joins.back().get(), 0), "cudaStreamWaitEvent");
  }
  origin.use();
  cudaGraph_t graph = nullptr;
  check(cudaStreamEndCapture(origin.stream(), &graph), "cudaStreamEndCapture");
  return graph;
}

}  // namespace

std::function<void()> record_graph(const std::vector<CudaDevice*>& devices,
                                   const std::function<void()>& queue) {
  std::vector<Traffic> each;  // of one replay
  for (const CudaDevice* device : devices)
    each.push_back(device->traffic());
  const std::shared_ptr<std::remove_pointer_t<cudaGraph_t>> graph(capture(devices, queue),
                                                                  cudaGraphDestroy);
  cudaGraphExec_t executable = nullptr;
  check(cudaGraphInstantiate(&executable, graph.get(), 0), "cudaGraphInstantiate");
  const std::shared_ptr<std::remove_pointer_t<cudaGraphExec_t>> owner(executable,
                                                                      cudaGraphExecDestroy);
  // Nothing was copied yet.
  for (std::size_t g = 0; g < devices.size(); ++g) {
    each[g] = devices[g]->traffic() - each[g];
    devices[g]->count(Traffic{} - each[g]);
  }
  // Behind all that the devices' streams hold, as far as it was waited for: schedules wait for
  // every device before and after.
  return [devices, each, owner] {
    devices.front()->use();
    check(cudaGraphLaunch(owner.get(), devices.front()->stream()), "cudaGraphLaunch");
    for (std::size_t g = 0; g < devices.size(); ++g)
      devices[g]->count(each[g]);
  };
}

}  // namespace gpucast::mdapp::cuda
