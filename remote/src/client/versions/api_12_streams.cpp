// CUDA 12's entry points that take a stream. Compiled twice (default_stream.h); CUDA's headers,
// which are of another version, make no names here.
#include "client/default_stream.h"
#include "client/entry.h"
#include "client/graph_nodes.h"

using namespace gpucast::remote::client;

#ifdef CUDA_API_PER_THREAD_DEFAULT_STREAM
#define GPUCAST_NAME(name) name##_ptsz
#else
#define GPUCAST_NAME(name) name
#endif

extern "C" {

cudaError_t GPUCAST_NAME(cudaStreamGetCaptureInfo_v2)(cudaStream_t stream,
                                                      cudaStreamCaptureStatus* status,
                                                      unsigned long long* id, cudaGraph_t* graph,
                                                      const cudaGraphNode_t** after,
                                                      std::size_t* count) {
  return entry<"cudaStreamGetCaptureInfo">([&] {
    give_capture(runtime().stream(own(stream)), status, id, graph, after, nullptr, count);
  });
}
cudaError_t GPUCAST_NAME(cudaStreamGetCaptureInfo_v3)(cudaStream_t stream,
                                                      cudaStreamCaptureStatus* status,
                                                      unsigned long long* id, cudaGraph_t* graph,
                                                      const cudaGraphNode_t** after,
                                                      const cudaGraphEdgeData** edges,
                                                      std::size_t* count) {
  return entry<"cudaStreamGetCaptureInfo">(
      [&] { give_capture(runtime().stream(own(stream)), status, id, graph, after, edges, count); });
}
cudaError_t GPUCAST_NAME(cudaStreamUpdateCaptureDependencies)(cudaStream_t stream,
                                                              cudaGraphNode_t* nodes,
                                                              std::size_t count, unsigned flags) {
  return entry<"cudaStreamUpdateCaptureDependencies">(
      [&] { update_capture(runtime().stream(own(stream)), nodes, nullptr, count, flags); });
}
cudaError_t GPUCAST_NAME(cudaStreamUpdateCaptureDependencies_v2)(cudaStream_t stream,
                                                                 cudaGraphNode_t* nodes,
                                                                 const cudaGraphEdgeData* edges,
                                                                 std::size_t count,
                                                                 unsigned flags) {
  return entry<"cudaStreamUpdateCaptureDependencies">(
      [&] { update_capture(runtime().stream(own(stream)), nodes, edges, count, flags); });
}

}  // extern "C"
