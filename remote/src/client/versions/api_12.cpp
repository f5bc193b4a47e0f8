// Entry points whose arguments are CUDA 12's own (api_13.cpp has those of CUDA 13). CUDA's
// headers are 13's: only those are included that declare no functions.
#include <driver_types.h>

#include "client/entry.h"
#include "client/graph_nodes.h"
#include "client/pointers.h"
#include "client/versions/properties_12.h"

using namespace gpucast::remote;
using namespace gpucast::remote::client;

namespace {

constexpr int version_12 = 12090;

struct PointerAttributes {
  cudaMemoryType type = cudaMemoryTypeUnregistered;
  int device = 0;
  void* on_device = nullptr;
  void* on_host = nullptr;
};
static_assert(sizeof(PointerAttributes) == 24, "as CUDA 12 programs expect it");

}  // namespace

extern "C" {

cudaError_t cudaRuntimeGetVersion(int* version) {
  return entry<"cudaRuntimeGetVersion">([&] { give(version, version_12); });
}
cudaError_t cudaGetDeviceProperties_v2(Properties12* result, int device) {
  return entry<"cudaGetDeviceProperties">(
      [&] { give(result, properties_12(runtime().gpu(device))); });
}
cudaError_t cudaPointerGetAttributes(PointerAttributes* result, const void* address) {
  return entry<"cudaPointerGetAttributes">([&] {
    const Pointer pointer = pointer_of(address);
    give(result, {.type = pointer.type,
                  .device = pointer.device,
                  .on_device = pointer.on_device,
                  .on_host = pointer.on_host});
  });
}

cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t first, cudaEvent_t second);
cudaError_t cudaEventElapsedTime_v2(float* milliseconds, cudaEvent_t first, cudaEvent_t second) {
  return cudaEventElapsedTime(milliseconds, first, second);
}

cudaError_t cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t* from,
                                     const cudaGraphNode_t* to, std::size_t count) {
  return entry<"cudaGraphAddDependencies">(
      [&] { change_edges(graph, &ProgramGraph::connect, from, to, nullptr, count); });
}
cudaError_t cudaGraphAddDependencies_v2(cudaGraph_t graph, const cudaGraphNode_t* from,
                                        const cudaGraphNode_t* to, const cudaGraphEdgeData* edges,
                                        std::size_t count) {
  return entry<"cudaGraphAddDependencies">(
      [&] { change_edges(graph, &ProgramGraph::connect, from, to, edges, count); });
}
cudaError_t cudaGraphRemoveDependencies(cudaGraph_t graph, const cudaGraphNode_t* from,
                                        const cudaGraphNode_t* to, std::size_t count) {
  return entry<"cudaGraphRemoveDependencies">(
      [&] { change_edges(graph, &ProgramGraph::disconnect, from, to, nullptr, count); });
}
cudaError_t cudaGraphRemoveDependencies_v2(cudaGraph_t graph, const cudaGraphNode_t* from,
                                           const cudaGraphNode_t* to,
                                           const cudaGraphEdgeData* edges, std::size_t count) {
  return entry<"cudaGraphRemoveDependencies">(
      [&] { change_edges(graph, &ProgramGraph::disconnect, from, to, edges, count); });
}
cudaError_t cudaGraphNodeGetDependencies(cudaGraphNode_t node, cudaGraphNode_t* nodes,
                                         std::size_t* count) {
  return entry<"cudaGraphNodeGetDependencies">(
      [&] { give_dependencies(node, nodes, nullptr, count); });
}
cudaError_t cudaGraphNodeGetDependencies_v2(cudaGraphNode_t node, cudaGraphNode_t* nodes,
                                            cudaGraphEdgeData* edges, std::size_t* count) {
  return entry<"cudaGraphNodeGetDependencies">(
      [&] { give_dependencies(node, nodes, edges, count); });
}
cudaError_t cudaGraphGetEdges(cudaGraph_t graph, cudaGraphNode_t* from, cudaGraphNode_t* to,
                              std::size_t* count) {
  return entry<"cudaGraphGetEdges">([&] { give_edges(graph, from, to, nullptr, count); });
}
cudaError_t cudaGraphGetEdges_v2(cudaGraph_t graph, cudaGraphNode_t* from, cudaGraphNode_t* to,
                                 cudaGraphEdgeData* edges, std::size_t* count) {
  return entry<"cudaGraphGetEdges">([&] { give_edges(graph, from, to, edges, count); });
}

}  // extern "C"
