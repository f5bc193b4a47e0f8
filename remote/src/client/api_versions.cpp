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
  return ENTRY(give_capture(on(stream), status, id, graph, after, edges, count));
}
cudaError_t CALL(cudaStreamUpdateCaptureDependencies,
                 _v2)(cudaStream_t stream, cudaGraphNode_t* nodes, const cudaGraphEdgeData* edges,
                      std::size_t count, unsigned flags) {
  return ENTRY(update_capture(on(stream), nodes, edges, count, flags));
}
#if GPUCAST_CUDA == 12
cudaError_t CALL(cudaStreamGetCaptureInfo,
                 _v2)(cudaStream_t stream, cudaStreamCaptureStatus* status, unsigned long long* id,
                      cudaGraph_t* graph, const cudaGraphNode_t** after, std::size_t* count) {
  return ENTRY(give_capture(on(stream), status, id, graph, after, nullptr, count));
}
cudaError_t CALL(cudaStreamUpdateCaptureDependencies, )(cudaStream_t stream, cudaGraphNode_t* nodes,
                                                        std::size_t count, unsigned flags) {
  return ENTRY(update_capture(on(stream), nodes, nullptr, count, flags));
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
  return ENTRY(give_dependencies(node, nodes, edges, count));
}
cudaError_t CALL(cudaGraphGetEdges, _v2)(cudaGraph_t graph, cudaGraphNode_t* from,
                                         cudaGraphNode_t* to, cudaGraphEdgeData* edges,
                                         std::size_t* count) {
  return ENTRY(give_edges(graph, from, to, edges, count));
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
