// Entry points whose arguments differ between versions of CUDA, compiled for each version
// (GPUCAST_CUDA: 12 or 13) twice (entry.h). The headers are those of CUDA 13: for 12 only those are
// included that declare no functions.
#include <driver_types.h>
#if GPUCAST_CUDA == 13
#include <cuda_runtime_api.h>
#endif

#include "client/entry.h"
#include "client/properties.h"
#include "client/works.h"

using namespace gpucast::remote;
using namespace gpucast::remote::client;

// Names of CUDA 13's calls, which CUDA 12 has with a version suffix, and of calls that only 12 has.
#if GPUCAST_CUDA == 13
#define CALL(name, version) name
[[maybe_unused]] constexpr int runtime_version = CUDART_VERSION;
using Properties = cudaDeviceProp;
using PointerAttributes = cudaPointerAttributes;
#else
#ifdef CUDA_API_PER_THREAD_DEFAULT_STREAM
#define CALL(name, version) name##version##_ptsz
#else
#define CALL(name, version) name##version
#endif
[[maybe_unused]] constexpr int runtime_version = 12090;
using Properties = Properties12;
struct PointerAttributes {
  cudaMemoryType type = cudaMemoryTypeUnregistered;
  int device = 0;
  void* devicePointer = nullptr;
  void* hostPointer = nullptr;
};
static_assert(sizeof(PointerAttributes) == 24, "as CUDA 12 programs expect it");
#endif

extern "C" {

cudaError_t CALL(cudaStreamGetCaptureInfo,
                 _v3)(cudaStream_t stream, cudaStreamCaptureStatus* status, unsigned long long* id,
                      cudaGraph_t* graph, const cudaGraphNode_t** after,
                      const cudaGraphEdgeData** edges, std::size_t* count) {
  return entry([&] {
    const Graphs::Info info = runtime().graphs.info(on(stream));
    give(status, info.status);
    if (id != nullptr) *id = info.id;
    if (graph != nullptr) *graph = info.graph;
    if (after != nullptr) *after = info.after;
    if (edges != nullptr) *edges = nullptr;
    if (count != nullptr) *count = info.count;
  });
}
cudaError_t CALL(cudaStreamUpdateCaptureDependencies,
                 _v2)(cudaStream_t stream, cudaGraphNode_t* nodes, const cudaGraphEdgeData* edges,
                      std::size_t count, unsigned flags) {
  return entry([&] {
    require_valid(flags <= cudaStreamSetCaptureDependencies);
    require_plain(edges, count);
    runtime().graphs.set_after(on(stream), nodes_of(nodes, count),
                               flags == cudaStreamSetCaptureDependencies);
  });
}
#if GPUCAST_CUDA == 12
cudaError_t CALL(cudaStreamGetCaptureInfo,
                 _v2)(cudaStream_t stream, cudaStreamCaptureStatus* status, unsigned long long* id,
                      cudaGraph_t* graph, const cudaGraphNode_t** after, std::size_t* count) {
  return CALL(cudaStreamGetCaptureInfo, _v3)(stream, status, id, graph, after, nullptr, count);
}
cudaError_t CALL(cudaStreamUpdateCaptureDependencies, )(cudaStream_t stream, cudaGraphNode_t* nodes,
                                                        std::size_t count, unsigned flags) {
  return CALL(cudaStreamUpdateCaptureDependencies, _v2)(stream, nodes, nullptr, count, flags);
}
#endif

#ifndef CUDA_API_PER_THREAD_DEFAULT_STREAM
cudaError_t cudaRuntimeGetVersion(int* version) { return ENTRY(give(version, runtime_version)); }
cudaError_t CALL(cudaGetDeviceProperties, _v2)(Properties* result, int device) {
  return ENTRY(give(result, properties<Properties>(runtime().gpu(device))));
}
cudaError_t cudaPointerGetAttributes(PointerAttributes* result, const void* address) {
  return entry([&] {
    runtime().device_count();
    give(result, {});  // of type cudaMemoryTypeUnregistered
    result->device = cudaInvalidDeviceId;
    auto* pointer = const_cast<void*>(address);
    if (const auto memory = runtime().memory.device_memory(address_of(address))) {
      result->type = cudaMemoryTypeDevice;
      result->device = memory->device;
      result->devicePointer = pointer;
      return;
    }
    result->hostPointer = pointer;
    if (!runtime().memory.pinned(address, 1)) return;
    result->type = cudaMemoryTypeHost;
    result->device = this_thread().device;
  });
}

// Adds or removes edges with the given method.
static void change_edges(cudaGraph_t graph, void (ProgramGraph::*change)(Node& from, Node& to),
                         const cudaGraphNode_t* from, const cudaGraphNode_t* to,
                         const cudaGraphEdgeData* edges, std::size_t count) {
  require_plain(edges, count);
  const auto firsts = nodes_of(from, count);
  const auto seconds = nodes_of(to, count);
  for (std::size_t k = 0; k < count; ++k)
    (runtime().graphs.graph(graph).*change)(*firsts[k], *seconds[k]);
}
cudaError_t CALL(cudaGraphAddDependencies, _v2)(cudaGraph_t graph, const cudaGraphNode_t* from,
                                                const cudaGraphNode_t* to,
                                                const cudaGraphEdgeData* edges, std::size_t count) {
  return ENTRY(change_edges(graph, &ProgramGraph::connect, from, to, edges, count));
}
cudaError_t CALL(cudaGraphRemoveDependencies,
                 _v2)(cudaGraph_t graph, const cudaGraphNode_t* from, const cudaGraphNode_t* to,
                      const cudaGraphEdgeData* edges, std::size_t count) {
  return ENTRY(change_edges(graph, &ProgramGraph::disconnect, from, to, edges, count));
}
cudaError_t CALL(cudaGraphNodeGetDependencies, _v2)(cudaGraphNode_t node, cudaGraphNode_t* nodes,
                                                    cudaGraphEdgeData* edges, std::size_t* count) {
  return entry([&] {
    const std::vector<Node*>& after = runtime().graphs.node(node).after;
    give_nodes({after.begin(), after.end()}, nodes, count);
    if (edges != nullptr) std::fill_n(edges, *count, cudaGraphEdgeData{});
  });
}
cudaError_t CALL(cudaGraphGetEdges, _v2)(cudaGraph_t graph, cudaGraphNode_t* from,
                                         cudaGraphNode_t* to, cudaGraphEdgeData* edges,
                                         std::size_t* count) {
  return entry([&] {
    std::vector<const Node*> firsts;
    std::vector<const Node*> seconds;
    for (const auto& node : runtime().graphs.graph(graph).nodes()) {
      firsts.insert(firsts.end(), node->after.begin(), node->after.end());
      seconds.resize(firsts.size(), node.get());
    }
    require_valid(count != nullptr && (from == nullptr) == (to == nullptr));
    std::size_t room = *count;
    give_nodes(firsts, from, &room);
    give_nodes(seconds, to, count);
    if (edges != nullptr) std::fill_n(edges, *count, cudaGraphEdgeData{});
  });
}
#if GPUCAST_CUDA == 12
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t first, cudaEvent_t second);
cudaError_t cudaEventElapsedTime_v2(float* milliseconds, cudaEvent_t first, cudaEvent_t second) {
  return cudaEventElapsedTime(milliseconds, first, second);
}
cudaError_t cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t* from,
                                     const cudaGraphNode_t* to, std::size_t count) {
  return cudaGraphAddDependencies_v2(graph, from, to, nullptr, count);
}
cudaError_t cudaGraphRemoveDependencies(cudaGraph_t graph, const cudaGraphNode_t* from,
                                        const cudaGraphNode_t* to, std::size_t count) {
  return cudaGraphRemoveDependencies_v2(graph, from, to, nullptr, count);
}
cudaError_t cudaGraphNodeGetDependencies(cudaGraphNode_t node, cudaGraphNode_t* nodes,
                                         std::size_t* count) {
  return cudaGraphNodeGetDependencies_v2(node, nodes, nullptr, count);
}
cudaError_t cudaGraphGetEdges(cudaGraph_t graph, cudaGraphNode_t* from, cudaGraphNode_t* to,
                              std::size_t* count) {
  return cudaGraphGetEdges_v2(graph, from, to, nullptr, count);
}
#endif
#endif

}  // extern "C"
