// The GPUs of this machine, or those that the CUDA runtime presents.
#include <nlohmann/json.hpp>

#include "engine/cuda/open.h"
#include "engine/numa.h"
#include "gpucast/support/parse_word.h"

namespace gpucast::microbench {
namespace cuda {
namespace {

namespace gpus = devices::cuda;
using Json = nlohmann::ordered_json;

bool can_reach(int from, int to) {
  int can = 0;
  check(cudaDeviceCanAccessPeer(&can, from, to), "cudaDeviceCanAccessPeer");
  return can != 0;
}

Json node_json(const std::optional<int>& node) { return node ? Json(*node) : Json(nullptr); }

// Whether CUDA graphs exist: a runtime for remote GPUs may not support them.
bool has_graphs() {
  cudaGraph_t graph = nullptr;
  const cudaError_t status = cudaGraphCreate(&graph, 0);
  if (status == cudaErrorNotSupported) {
    cudaGetLastError();
    return false;
  }
  check(status, "cudaGraphCreate");
  cudaGraphDestroy(graph);
  return true;
}

}  // namespace

CudaEngine::CudaEngine(int count) : count_(count), has_graphs_(has_graphs()) {
  for (int device = 0; device < count; ++device) {
    if (gpus::attribute(cudaDevAttrCanMapHostMemory, device) == 0) maps_host_memory_ = false;
    check(cudaSetDevice(device), "cudaSetDevice");
    load_kernels();
    for (int other = 0; other < count; ++other) {
      if (other == device || !can_reach(device, other)) continue;
      const cudaError_t status = cudaDeviceEnablePeerAccess(other, 0);
      if (status != cudaErrorPeerAccessAlreadyEnabled) check(status, "cudaDeviceEnablePeerAccess");
      cudaGetLastError();  // an already enabled peer is no error
    }
  }
}

Json CudaEngine::topology() const {
  Json devices = Json::array();
  Json peers = Json::array();
  for (int device = 0; device < count_; ++device) {
    devices.push_back(
        {{"gpu", place(device)},
         {"numa_node", node_json(node_of_pci(gpus::describe(device).pci.value_or("")))},
         {"copy_engines", gpus::attribute(cudaDevAttrAsyncEngineCount, device)},
         {"unified_addressing", gpus::attribute(cudaDevAttrUnifiedAddressing, device) != 0},
         {"reaches_pageable", gpus::attribute(cudaDevAttrPageableMemoryAccess, device) != 0}});
    for (int other = 0; other < count_; ++other) {
      if (other == device) continue;
      int rank = 0;
      int atomics = 0;
      cudaDeviceGetP2PAttribute(&rank, cudaDevP2PAttrPerformanceRank, device, other);
      cudaDeviceGetP2PAttribute(&atomics, cudaDevP2PAttrNativeAtomicSupported, device, other);
      peers.push_back({{"from", place(device)},
                       {"to", place(other)},
                       {"access", can_reach(device, other)},
                       {"rank", rank},
                       {"atomics", atomics != 0}});
    }
  }
  const std::string no_nvml = gpus::why_no_nvml();
  return {{"devices", devices},
          {"peers", peers},
          {"nvml", no_nvml.empty() ? "present" : "not present: " + no_nvml}};
}

std::optional<std::string> CudaEngine::refuses(const Copy& copy,
                                               records::TransferMethod method) const {
  const bool by_host = copy.from == host || copy.to == host;
  const bool gated = method == records::TransferMethod::gated;
  const bool pageable = copy.memory == records::Memory::pageable;
  const bool mapped = is_mapped(copy.memory);
  const bool kernel = by_host && copy.engine == records::Engine::kernel;
  if (!maps_host_memory_ && (gated || mapped || kernel)) return no_mapped_memory;
  if (by_host && gated && pageable)
    return "copies of pageable memory block: behind a gate they would wait for ever";
  if (copy.staged && gated) return "staged copies are calls";
  if (by_host && copy.engine == records::Engine::kernel && pageable)
    return "kernels do not reach pageable memory";
  if (!by_host && !copy.staged && copy.from != copy.to && !can_reach(copy.from, copy.to))
    return "no peer access from " + place(copy.from) + " to " + place(copy.to);
  return std::nullopt;
}

std::optional<std::string> CudaEngine::refuses(records::LaunchMethod method) const {
  using records::LaunchMethod;
  if (method == LaunchMethod::graph && !has_graphs_) return "the CUDA runtime has no graphs";
  if (method == LaunchMethod::gated && !maps_host_memory_) return no_mapped_memory;
  return std::nullopt;
}

std::optional<std::string> CudaEngine::refuses_loops(records::Memory memory,
                                                     Runner /*runner*/) const {
  if (!maps_host_memory_ && is_mapped(memory)) return no_mapped_memory;
  return std::nullopt;
}

void CudaEngine::warm_up(double seconds) {
  const auto begin = Clock::now();
  constexpr double slice = 0.02;
  while (seconds_since(begin) < seconds) {
    for (int device = 0; device < count_; ++device) {
      check(cudaSetDevice(device), "cudaSetDevice");
      queue_spin(slice, nullptr);
    }
    for (int device = 0; device < count_; ++device) {
      check(cudaSetDevice(device), "cudaSetDevice");
      check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    }
  }
}

std::vector<Json> CudaEngine::placements() const {
  std::vector<Json> placements;
  for (const Placement& placement : pool_.placements()) {
    placements.push_back({{"gpu", place(placement.device)},
                          {"memory", support::name(placement.memory)},
                          {"wanted", node_json(placement.wanted)},
                          {"obtained", node_json(placement.obtained)}});
  }
  return placements;
}

}  // namespace cuda

std::unique_ptr<Engine> cuda_engine(std::string& why_not) {
  const int count = devices::cuda::gpu_count(why_not);
  return count == 0 ? nullptr : std::make_unique<cuda::CudaEngine>(count);
}

}  // namespace gpucast::microbench
