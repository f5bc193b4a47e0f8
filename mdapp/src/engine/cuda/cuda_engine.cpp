// The GPUs of this machine, or those that the CUDA runtime presents.

#include <algorithm>
#include <stdexcept>
#include <type_traits>

#include "engine/cuda/cuda_device.h"
#include "gpucast/devices/cuda/gpus.h"

namespace gpucast::mdapp {
namespace cuda {
namespace {

namespace gpus = devices::cuda;

// Portable: every GPU copies from it.
HostMemory pinned_memory(std::size_t bytes) {
  void* data = nullptr;
  check(cudaHostAlloc(&data, std::max<std::size_t>(bytes, 1), cudaHostAllocPortable),
        "cudaHostAlloc");
  return {data, [](void* memory) { cudaFreeHost(memory); }};
}

std::vector<CudaDevice*> own(std::span<Device* const> devices) {
  std::vector<CudaDevice*> result;
  for (Device* device : devices)
    result.push_back(&dynamic_cast<CudaDevice&>(*device));
  return result;
}

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
    events.back().record(leader.stream());
    device.use();
    events.back().hold(device.stream());
  };
  cudaGraph_t graph = nullptr;
  try {
    for (const CudaDevice* device : others)
      follow(*device, origin);
    queue();
    for (const CudaDevice* device : others)
      follow(origin, *device);
  } catch (...) {
    // The incomplete capture is discarded.
    cudaStreamEndCapture(origin.stream(), &graph);
    if (graph != nullptr) cudaGraphDestroy(graph);
    throw;
  }
  origin.use();
  check(cudaStreamEndCapture(origin.stream(), &graph), "cudaStreamEndCapture");
  return graph;
}

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
  // Capturing copies nothing.
  for (std::size_t g = 0; g < devices.size(); ++g) {
    of_one_replay[g] = devices[g]->traffic() - of_one_replay[g];
    devices[g]->count(Traffic{} - of_one_replay[g]);
  }
  // Runs after the completed work of the devices' streams: schedules wait for every device before
  // and after.
  return [devices, of_one_replay, owner] {
    devices.front()->use();
    check(cudaGraphLaunch(owner.get(), devices.front()->stream()), "cudaGraphLaunch");
    for (std::size_t g = 0; g < devices.size(); ++g)
      devices[g]->count(of_one_replay[g]);
  };
}

class CudaEngine : public Engine {
 public:
  explicit CudaEngine(int count) : count_(count) {}

  schema::Path path() const override { return gpus::path(); }

  std::vector<DeviceInfo> devices() const override { return gpus::describe_all(count_); }
  std::string driver() const override { return gpus::driver_version(); }
  std::string runtime() const override { return gpus::runtime_version(); }
  std::optional<std::string> transport() const override { return gpus::remote_transport(); }

  std::int64_t bytes_needed(const Workload& workload) const override {
    cuda::check(cudaSetDevice(0), "cudaSetDevice");
    const auto slice = static_cast<std::size_t>(workload.slice.count);
    const auto splits = static_cast<std::size_t>(std::max(division_of(workload).j_split, 1));
    std::size_t bytes = padded_positions(workload) * sizeof(Position) +
                        slice * (sizeof(Force) + sizeof(PairSums) + 6 * sizeof(double));
    if (splits > 1)
      bytes += slice * (splits * partial_components * sizeof(double) + sizeof(unsigned));
    return static_cast<std::int64_t>(bytes);
  }

  std::int64_t bytes_free(int device) const override {
    cuda::check(cudaSetDevice(device), "cudaSetDevice");
    std::size_t free = 0;
    std::size_t total = 0;
    cuda::check(cudaMemGetInfo(&free, &total), "cudaMemGetInfo");
    return static_cast<std::int64_t>(free);
  }

  int default_block(KernelName kernel) const override { return cuda::default_block(kernel); }

  void check(const KernelChoice& choice) const override {
    constexpr int warp = 32;
    const int most = choice.name == KernelName::tuned ? most_tuned_threads : most_claret_threads;
    const auto require = [](bool holds, const char* what, int value, const std::string& allowed) {
      if (holds) return;
      throw std::invalid_argument(what + (" " + std::to_string(value)) + ": " + allowed +
                                  " allowed, or 0 for the kernel's own choice");
    };
    require(choice.block >= 0 && choice.block <= most && choice.block % warp == 0, "block",
            choice.block, "a multiple of 32 up to " + std::to_string(most) + " is");
    if (choice.name != KernelName::tuned && choice.j_split != 0)
      throw std::invalid_argument("a j split belongs to the tuned kernel");
    require(choice.j_split >= 0 && choice.j_split <= most_splits, "j split", choice.j_split,
            "1 to " + std::to_string(most_splits) + " are");
  }

  HostMemory allocate(std::size_t bytes, Memory memory) override {
    return memory == Memory::pinned ? pinned_memory(bytes) : pageable_memory(bytes);
  }

  std::unique_ptr<Device> open(int device, const Workload& workload) override {
    return std::make_unique<CudaDevice>(device, workload);
  }

  std::unique_ptr<Exchange> connect(std::span<Device* const> devices) override {
    return nccl_exchange(own(devices));
  }

  std::function<void()> record(std::span<Device* const> devices,
                               const std::function<void()>& queue) override {
    return record_graph(own(devices), queue);
  }

 private:
  int count_;
};

}  // namespace
}  // namespace cuda

std::unique_ptr<Engine> cuda_engine(std::string& why_not) {
  const int count = devices::cuda::gpu_count(why_not);
  return count == 0 ? nullptr : std::make_unique<cuda::CudaEngine>(count);
}

}  // namespace gpucast::mdapp
