// Entry points whose arguments are CUDA 13's own (api_12.cpp has those of CUDA 12).
#include <cuda_runtime_api.h>

#include "client/entry.h"
#include "client/graph_nodes.h"
#include "client/pointers.h"
#include "client/properties.h"

using namespace gpucast::remote;
using namespace gpucast::remote::client;

extern "C" {

cudaError_t cudaRuntimeGetVersion(int* version) {
  return entry<"cudaRuntimeGetVersion">([&] { give(version, CUDART_VERSION); });
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* result, int device) {
  return entry<"cudaGetDeviceProperties">([&] { give(result, properties(runtime().gpu(device))); });
}
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* result, const void* address) {
  return entry<"cudaPointerGetAttributes">([&] {
    const Pointer pointer = pointer_of(address);
    give(result, {});
    result->type = pointer.type;
    result->device = pointer.device;
    result->devicePointer = pointer.on_device;
    result->hostPointer = pointer.on_host;
  });
}

cudaError_t cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t* from,
                                     const cudaGraphNode_t* to, const cudaGraphEdgeData* edges,
                                     std::size_t count) {
  return entry<"cudaGraphAddDependencies">(
      [&] { change_edges(graph, &ProgramGraph::connect, from, to, edges, count); });
}
cudaError_t cudaGraphRemoveDependencies(cudaGraph_t graph, const cudaGraphNode_t* from,
                                        const cudaGraphNode_t* to, const cudaGraphEdgeData* edges,
                                        std::size_t count) {
  return entry<"cudaGraphRemoveDependencies">(
      [&] { change_edges(graph, &ProgramGraph::disconnect, from, to, edges, count); });
}
cudaError_t cudaGraphNodeGetDependencies(cudaGraphNode_t node, cudaGraphNode_t* nodes,
                                         cudaGraphEdgeData* edges, std::size_t* count) {
  return entry<"cudaGraphNodeGetDependencies">(
      [&] { give_dependencies(node, nodes, edges, count); });
}
cudaError_t cudaGraphGetEdges(cudaGraph_t graph, cudaGraphNode_t* from, cudaGraphNode_t* to,
                              cudaGraphEdgeData* edges, std::size_t* count) {
  return entry<"cudaGraphGetEdges">([&] { give_edges(graph, from, to, edges, count); });
}

}  // extern "C"
