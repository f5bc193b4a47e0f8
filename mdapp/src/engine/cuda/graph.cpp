// Operations on several GPUs, recorded as one CUDA graph.
#include <memory>
#include <stdexcept>
#include <type_traits>
#include <vector>

#include "engine/cuda/cuda_device.h"

namespace gpucast::mdapp::cuda {
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
  std::vector<Traffic> each;  // of one replay
  each.reserve(devices.size());
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
