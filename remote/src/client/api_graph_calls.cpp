// Recording of streams, and launches of graphs. Compiled twice (default_stream.h).
#include <cuda_runtime_api.h>

#include "client/default_stream.h"
#include "client/entry.h"
#include "client/graph_nodes.h"

using namespace gpucast::remote;
using namespace gpucast::remote::client;

namespace {

OnStream stream_of(cudaStream_t stream) { return runtime().stream(own(stream)); }

void begin(cudaStream_t stream, cudaStreamCaptureMode mode, cudaGraph_t into,
           const std::vector<Node*>& after) {
  stream = own(stream);
  require_valid(mode >= cudaStreamCaptureModeGlobal && mode <= cudaStreamCaptureModeRelaxed);
  if (stream == nullptr || stream == cudaStreamLegacy)
    throw Failure{cudaErrorStreamCaptureUnsupported};
  const OnStream its = runtime().stream(stream);
  const bool apart = stream != cudaStreamPerThread &&
                     (runtime().streams.find(stream).flags & cudaStreamNonBlocking) != 0;
  runtime().graphs.begin(its, apart, mode, into, after);
}

cudaGraphExec_t instantiate(cudaGraph_t graph, unsigned long long flags) {
  constexpr unsigned long long known = cudaGraphInstantiateFlagAutoFreeOnLaunch |
                                       cudaGraphInstantiateFlagUpload |
                                       cudaGraphInstantiateFlagUseNodePriority;
  if ((flags & cudaGraphInstantiateFlagDeviceLaunch) != 0)
    require(runtime().unsupported("graphs that devices launch"));
  require_valid((flags & ~known) == 0);
  return runtime().graphs.instantiate(graph, flags);
}

}  // namespace

extern "C" {

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode) {
  return entry<"cudaStreamBeginCapture">([&] { begin(stream, mode, nullptr, {}); });
}
cudaError_t cudaStreamBeginCaptureToGraph(cudaStream_t stream, cudaGraph_t graph,
                                          const cudaGraphNode_t* after,
                                          const cudaGraphEdgeData* edges, std::size_t count,
                                          cudaStreamCaptureMode mode) {
  return entry<"cudaStreamBeginCaptureToGraph">([&] {
    require_plain(edges, count);
    runtime().graphs.graph(graph);
    begin(stream, mode, graph, nodes_of(after, count));
  });
}
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  return entry<"cudaStreamEndCapture">([&] {
    give(graph, nullptr);
    *graph = runtime().graphs.end(stream_of(stream));
  });
}
cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
  return entry<"cudaStreamIsCapturing">([&] {
    give(status, cudaStreamCaptureStatusNone);
    *status = runtime().graphs.info(stream_of(stream)).status;
  });
}
cudaError_t cudaGraphInstantiateWithParams(cudaGraphExec_t* exec, cudaGraph_t graph,
                                           cudaGraphInstantiateParams* parameters) {
  return entry<"cudaGraphInstantiateWithParams">([&] {
    give(exec, nullptr);
    require_valid(parameters != nullptr);
    parameters->errNode_out = nullptr;
    parameters->result_out = cudaGraphInstantiateError;
    *exec = instantiate(graph, parameters->flags);
    parameters->result_out = cudaGraphInstantiateSuccess;
  });
}
// It is where it is launched from already.
cudaError_t cudaGraphUpload(cudaGraphExec_t exec, cudaStream_t stream) {
  return entry<"cudaGraphUpload">([&] {
    stream_of(stream);
    runtime().graphs.exec(exec);
  });
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream) {
  return entry<"cudaGraphLaunch">([&] {
    const OnStream its = stream_of(stream);
    const auto found = runtime().graphs.exec(exec);
    if (runtime().graphs.records(its))
      runtime().graphs.forbid(its, runtime().unsupported("graphs within graphs"));
    found->launch(its);
  });
}

#ifndef CUDA_API_PER_THREAD_DEFAULT_STREAM
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* exec, cudaGraph_t graph,
                                 unsigned long long flags) {
  return entry<"cudaGraphInstantiate">([&] {
    give(exec, nullptr);
    *exec = instantiate(graph, flags);
  });
}
cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* exec, cudaGraph_t graph,
                                          unsigned long long flags) {
  return entry<"cudaGraphInstantiateWithFlags">([&] {
    give(exec, nullptr);
    *exec = instantiate(graph, flags);
  });
}
#endif

}  // extern "C"
