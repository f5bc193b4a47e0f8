// Entry points that take a stream or use the default one: copies, launches, recording. Compiled
// twice (entry.h).
#include <cuda_runtime_api.h>

#include "client/entry.h"
#include "client/works.h"

using namespace gpucast::remote;
using namespace gpucast::remote::client;

namespace {

void record(cudaEvent_t handle, cudaStream_t stream) {
  const DeviceObject event = runtime().events.find(handle);
  const OnStream its = on(stream);
  if (runtime().graphs.record_event(its, handle)) return;
  if (event.device != its.device) throw Failure{cudaErrorInvalidResourceHandle};
  its.gpu->record_event(event.id, its.id);
}

// Returns the stream for a call that waits for it, which must not be recorded.
OnStream waited_for(cudaStream_t stream) {
  const OnStream its = on(stream);
  runtime().graphs.forbid(its);
  return its;
}

// Returns the stream for a call that has no graph node.
OnStream unrecorded(cudaStream_t stream, const char* what) {
  const OnStream its = on(stream);
  if (runtime().graphs.records(its)) runtime().graphs.forbid(its, runtime().unsupported(what));
  return its;
}

DeviceObject facts(cudaStream_t stream) {
  stream = own(stream);
  if (stream == nullptr || stream == cudaStreamLegacy || stream == cudaStreamPerThread) {
    const OnStream its = runtime().stream(stream);
    return {.device = its.device, .id = its.id};
  }
  return runtime().streams.find(stream);
}

LaunchOptions options_of(const cudaLaunchConfig_t& config) {
  LaunchOptions options;
  for (unsigned k = 0; k < config.numAttrs; ++k) {
    const cudaLaunchAttribute& attribute = config.attrs[k];
    switch (attribute.id) {
      case cudaLaunchAttributeIgnore:
      // These are hints: without them a kernel begins later, or in another order of precedence.
      case cudaLaunchAttributeProgrammaticStreamSerialization:
      case cudaLaunchAttributePriority:
        break;
      case cudaLaunchAttributeClusterDimension:
        options.cluster = {attribute.val.clusterDim.x, attribute.val.clusterDim.y,
                           attribute.val.clusterDim.z};
        break;
      case cudaLaunchAttributeCooperative:
        options.cooperative = attribute.val.cooperative != 0;
        break;
      default:
        refuse("launch attribute " + std::to_string(attribute.id));
    }
  }
  return options;
}

constexpr auto blocking = Waiting::blocking;
constexpr auto asynchronous = Waiting::asynchronous;

void* within(const void* host, std::size_t bytes, std::size_t offset) {
  const Global variable = symbol(host);
  require_valid(offset <= variable.bytes && bytes <= variable.bytes - offset);
  return reinterpret_cast<void*>(variable.address + offset);
}

void begin(cudaStream_t stream, cudaStreamCaptureMode mode, cudaGraph_t into,
           const std::vector<Node*>& after) {
  stream = own(stream);
  require_valid(mode >= cudaStreamCaptureModeGlobal && mode <= cudaStreamCaptureModeRelaxed);
  if (stream == nullptr || stream == cudaStreamLegacy)
    throw Failure{cudaErrorStreamCaptureUnsupported};
  const bool apart = stream != cudaStreamPerThread &&
                     (runtime().streams.find(stream).flags & cudaStreamNonBlocking) != 0;
  runtime().graphs.begin(on(stream), apart, into, after);
}

void instantiate(cudaGraphExec_t* exec, cudaGraph_t graph, unsigned long long flags) {
  constexpr unsigned long long known = cudaGraphInstantiateFlagAutoFreeOnLaunch |
                                       cudaGraphInstantiateFlagUpload |
                                       cudaGraphInstantiateFlagUseNodePriority;
  give(exec, nullptr);
  refuse_if((flags & cudaGraphInstantiateFlagDeviceLaunch) != 0, "graphs that devices launch");
  require_valid((flags & ~known) == 0);
  *exec = runtime().graphs.instantiate(graph, flags);
}

}  // namespace

extern "C" {

// ---- streams and events ----

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  return entry([&] {
    const OnStream its = waited_for(stream);
    its.gpu->synchronize_stream(its.id);
  });
}
cudaError_t cudaStreamQuery(cudaStream_t stream) {
  return entry([&] {
    const OnStream its = waited_for(stream);
    return its.gpu->query_stream(its.id) ? cudaSuccess : cudaErrorNotReady;
  });
}
// Between servers the host waits: no server knows another server's events.
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t handle, unsigned flags) {
  return entry([&] {
    const OnStream its = on(stream);
    const DeviceObject event = runtime().events.find(handle);
    refuse_if(flags != cudaEventWaitDefault, "cudaEventWaitExternal");
    if (runtime().graphs.wait_event(its, handle)) return;
    event.device == its.device ? its.gpu->wait_event(its.id, event.id)
                               : runtime().gpu(event).synchronize_event(event.id);
  });
}
cudaError_t cudaStreamGetFlags(cudaStream_t stream, unsigned* flags) {
  return ENTRY(give(flags, facts(stream).flags));
}
cudaError_t cudaStreamGetPriority(cudaStream_t stream, int* priority) {
  return ENTRY(give(priority, facts(stream).priority));
}
cudaError_t cudaStreamGetDevice(cudaStream_t stream, int* device) {
  return ENTRY(give(device, facts(stream).device));
}
// Ids of streams on different servers differ too.
cudaError_t cudaStreamGetId(cudaStream_t stream, unsigned long long* id) {
  return entry([&] {
    const DeviceObject its = facts(stream);
    constexpr unsigned device_bits = 48;
    give(id, static_cast<unsigned long long>(its.device) << device_bits | its.id);
  });
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  return ENTRY(record(event, stream));
}
cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned flags) {
  return entry([&] {
    refuse_if(flags != cudaEventRecordDefault, "cudaEventRecordExternal");
    record(event, stream);
  });
}

// ---- functions of the program ----

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* data) {
  return entry([&] {
    require_valid(function != nullptr);
    const OnStream its = unrecorded(stream, "host functions in a graph");
    its.gpu->launch_host(its.id, [=](Status status) {
      if (status == 0) function(data);
    });
  });
}
cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t callback, void* data,
                                  unsigned flags) {
  return entry([&] {
    require_valid(callback != nullptr && flags == 0);
    const OnStream its = waited_for(stream);
    its.gpu->launch_host(its.id, [=](Status status) { callback(stream, to_error(status), data); });
  });
}

// ---- memory ----

cudaError_t cudaMallocAsync(void** memory, std::size_t bytes, cudaStream_t stream) {
  return ENTRY(
      allocate_pooled(memory, bytes, nullptr, unrecorded(stream, "cudaMallocAsync in a graph")));
}
cudaError_t cudaMallocFromPoolAsync(void** memory, std::size_t bytes, cudaMemPool_t pool,
                                    cudaStream_t stream) {
  return entry([&] {
    require_valid(pool != nullptr);
    allocate_pooled(memory, bytes, pool, unrecorded(stream, "cudaMallocFromPoolAsync in a graph"));
  });
}
cudaError_t cudaFreeAsync(void* memory, cudaStream_t stream) {
  return ENTRY(deallocate_pooled(memory, unrecorded(stream, "cudaFreeAsync in a graph")));
}

// ---- launches ----

// nvcc's code calls this; CUDA's headers declare it for nvcc only.
cudaError_t __CUDART_API_PTSZ(__cudaLaunchKernel)(cudaKernel_t kernel, dim3 grid, dim3 block,
                                                  void** arguments, std::size_t shared,
                                                  cudaStream_t stream) {
  return ENTRY(launch(kernel, {grid, block, shared, own(stream)}, arguments, {}));
}
cudaError_t cudaLaunchKernel(const void* host, dim3 grid, dim3 block, void** arguments,
                             std::size_t shared, cudaStream_t stream) {
  return ENTRY(launch(host, {grid, block, shared, own(stream)}, arguments, {}));
}
cudaError_t cudaLaunchCooperativeKernel(const void* host, dim3 grid, dim3 block, void** arguments,
                                        std::size_t shared, cudaStream_t stream) {
  return ENTRY(launch(host, {grid, block, shared, own(stream)}, arguments,
                      {.cluster = {}, .cooperative = true}));
}
cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* host,
                                void** arguments) {
  return entry([&] {
    require_valid(config != nullptr);
    launch(host,
           {.grid = config->gridDim,
            .block = config->blockDim,
            .shared = config->dynamicSmemBytes,
            .stream = own(config->stream)},
           arguments, options_of(*config));
  });
}

// ---- copies and memset ----

cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
  return ENTRY(copy(to, from, row(bytes), kind, own(nullptr), blocking));
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  return ENTRY(copy(to, from, row(bytes), kind, own(stream), asynchronous));
}

cudaError_t cudaMemcpy2D(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
                         std::size_t width, std::size_t height, cudaMemcpyKind kind) {
  return ENTRY(copy(to, from, {to_pitch, from_pitch, width, height}, kind, own(nullptr), blocking));
}
cudaError_t cudaMemcpy2DAsync(void* to, std::size_t to_pitch, const void* from,
                              std::size_t from_pitch, std::size_t width, std::size_t height,
                              cudaMemcpyKind kind, cudaStream_t stream) {
  return ENTRY(
      copy(to, from, {to_pitch, from_pitch, width, height}, kind, own(stream), asynchronous));
}

cudaError_t cudaMemcpyToSymbol(const void* symbol, const void* from, std::size_t bytes,
                               std::size_t offset, cudaMemcpyKind kind) {
  return ENTRY(copy(within(symbol, bytes, offset), from, row(bytes), kind, own(nullptr), blocking));
}
cudaError_t cudaMemcpyToSymbolAsync(const void* symbol, const void* from, std::size_t bytes,
                                    std::size_t offset, cudaMemcpyKind kind, cudaStream_t stream) {
  return ENTRY(
      copy(within(symbol, bytes, offset), from, row(bytes), kind, own(stream), asynchronous));
}
cudaError_t cudaMemcpyFromSymbol(void* to, const void* symbol, std::size_t bytes,
                                 std::size_t offset, cudaMemcpyKind kind) {
  return ENTRY(copy(to, within(symbol, bytes, offset), row(bytes), kind, own(nullptr), blocking));
}
cudaError_t cudaMemcpyFromSymbolAsync(void* to, const void* symbol, std::size_t bytes,
                                      std::size_t offset, cudaMemcpyKind kind,
                                      cudaStream_t stream) {
  return ENTRY(
      copy(to, within(symbol, bytes, offset), row(bytes), kind, own(stream), asynchronous));
}

cudaError_t cudaMemset(void* to, int value, std::size_t bytes) {
  return ENTRY(set(to, value, bytes, bytes, 1, own(nullptr), blocking));
}
cudaError_t cudaMemsetAsync(void* to, int value, std::size_t bytes, cudaStream_t stream) {
  return ENTRY(set(to, value, bytes, bytes, 1, own(stream), asynchronous));
}
cudaError_t cudaMemset2D(void* to, std::size_t pitch, int value, std::size_t width,
                         std::size_t height) {
  return ENTRY(set(to, value, pitch, width, height, own(nullptr), blocking));
}
cudaError_t cudaMemset2DAsync(void* to, std::size_t pitch, int value, std::size_t width,
                              std::size_t height, cudaStream_t stream) {
  return ENTRY(set(to, value, pitch, width, height, own(stream), asynchronous));
}

// ---- graphs ----

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode) {
  return ENTRY(begin(stream, mode, nullptr, {}));
}
cudaError_t cudaStreamBeginCaptureToGraph(cudaStream_t stream, cudaGraph_t graph,
                                          const cudaGraphNode_t* after,
                                          const cudaGraphEdgeData* edges, std::size_t count,
                                          cudaStreamCaptureMode mode) {
  return entry([&] {
    require_plain(edges, count);
    runtime().graphs.graph(graph);
    begin(stream, mode, graph, nodes_of(after, count));
  });
}
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  return entry([&] {
    give(graph, nullptr);
    *graph = runtime().graphs.end(on(stream));
  });
}
cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
  return entry([&] {
    give(status, cudaStreamCaptureStatusNone);
    *status = runtime().graphs.info(on(stream)).status;
  });
}
cudaError_t cudaGraphInstantiateWithParams(cudaGraphExec_t* exec, cudaGraph_t graph,
                                           cudaGraphInstantiateParams* parameters) {
  return entry([&] {
    require_valid(parameters != nullptr);
    parameters->errNode_out = nullptr;
    parameters->result_out = cudaGraphInstantiateError;
    instantiate(exec, graph, parameters->flags);
    parameters->result_out = cudaGraphInstantiateSuccess;
  });
}
// A graph is uploaded already when it is instantiated.
cudaError_t cudaGraphUpload(cudaGraphExec_t exec, cudaStream_t stream) {
  return entry([&] {
    on(stream);
    runtime().graphs.exec(exec);
  });
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream) {
  return entry([&] {
    const OnStream its = unrecorded(stream, "graphs within graphs");
    const auto ready = runtime().graphs.exec(exec);
    ready->launch(its);
  });
}

#ifndef CUDA_API_PER_THREAD_DEFAULT_STREAM
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* exec, cudaGraph_t graph,
                                 unsigned long long flags) {
  return ENTRY(instantiate(exec, graph, flags));
}
cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* exec, cudaGraph_t graph,
                                          unsigned long long flags) {
  return ENTRY(instantiate(exec, graph, flags));
}
#endif

}  // extern "C"
