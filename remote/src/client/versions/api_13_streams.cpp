// The same of those that take a stream. Compiled twice (default_stream.h).
#include <cuda_runtime_api.h>

#include "client/default_stream.h"
#include "client/entry.h"
#include "client/graph_nodes.h"

using namespace gpucast::remote::client;

extern "C" {

cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream, cudaStreamCaptureStatus* status,
                                     unsigned long long* id, cudaGraph_t* graph,
                                     const cudaGraphNode_t** after, const cudaGraphEdgeData** edges,
                                     std::size_t* count) {
  return entry<"cudaStreamGetCaptureInfo">(
      [&] { give_capture(runtime().stream(own(stream)), status, id, graph, after, edges, count); });
}
cudaError_t cudaStreamUpdateCaptureDependencies(cudaStream_t stream, cudaGraphNode_t* nodes,
                                                const cudaGraphEdgeData* edges, std::size_t count,
                                                unsigned flags) {
  return entry<"cudaStreamUpdateCaptureDependencies">(
      [&] { update_capture(runtime().stream(own(stream)), nodes, edges, count, flags); });
}

}  // extern "C"
