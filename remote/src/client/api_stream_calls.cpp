// What programs ask of a stream, and launches. Compiled twice (default_stream.h).
#include <cuda_runtime_api.h>

#include "client/copies.h"
#include "client/default_stream.h"
#include "client/entry.h"
#include "client/launches.h"

using namespace gpucast::remote;
using namespace gpucast::remote::client;

namespace {

OnStream on(cudaStream_t stream) { return runtime().stream(own(stream)); }

void record(cudaEvent_t handle, cudaStream_t stream) {
  const DeviceObject event = runtime().events.find(handle);
  const OnStream its = on(stream);
  if (runtime().graphs.record_event(its, handle)) return;
  if (event.device != its.device) throw Failure{cudaErrorInvalidResourceHandle};
  require(its.gpu->record_event(event.id, its.id));
}

// What has no node.
void refuse_recorded(const OnStream& its, const char* what) {
  if (!runtime().graphs.records(its)) return;
  runtime().graphs.forbid(its, runtime().unsupported(what));
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
      // Hints: without them a kernel begins later, or in another order of precedence.
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
        require(runtime().unsupported("launch attribute " + std::to_string(attribute.id)));
    }
  }
  return options;
}

}  // namespace

extern "C" {

// ---- streams and events ----

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  return entry<"cudaStreamSynchronize">([&] {
    const OnStream its = on(stream);
    runtime().graphs.forbid(its);
    require(its.gpu->synchronize_stream(its.id));
  });
}
cudaError_t cudaStreamQuery(cudaStream_t stream) {
  return entry<"cudaStreamQuery">([&] {
    const OnStream its = on(stream);
    runtime().graphs.forbid(its);
    return to_error(its.gpu->query_stream(its.id));
  });
}
// Between servers the host waits: an event is not known beyond its own.
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t handle, unsigned flags) {
  return entry<"cudaStreamWaitEvent">([&] {
    const OnStream its = on(stream);
    const DeviceObject event = runtime().events.find(handle);
    if (flags != cudaEventWaitDefault) require(runtime().unsupported("cudaEventWaitExternal"));
    if (runtime().graphs.wait_event(its, handle)) return;
    require(event.device == its.device ? its.gpu->wait_event(its.id, event.id)
                                       : runtime().gpu(event.device).synchronize_event(event.id));
  });
}
cudaError_t cudaStreamGetFlags(cudaStream_t stream, unsigned* flags) {
  return entry<"cudaStreamGetFlags">([&] { give(flags, facts(stream).flags); });
}
cudaError_t cudaStreamGetPriority(cudaStream_t stream, int* priority) {
  return entry<"cudaStreamGetPriority">([&] { give(priority, facts(stream).priority); });
}
cudaError_t cudaStreamGetDevice(cudaStream_t stream, int* device) {
  return entry<"cudaStreamGetDevice">([&] { give(device, facts(stream).device); });
}
// Ids of several servers' streams differ too.
cudaError_t cudaStreamGetId(cudaStream_t stream, unsigned long long* id) {
  return entry<"cudaStreamGetId">([&] {
    const DeviceObject found = facts(stream);
    constexpr unsigned device_bits = 48;
    give(id, static_cast<unsigned long long>(found.device) << device_bits | found.id);
  });
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  return entry<"cudaEventRecord">([&] { record(event, stream); });
}
cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned flags) {
  return entry<"cudaEventRecordWithFlags">([&] {
    if (flags != cudaEventRecordDefault) require(runtime().unsupported("cudaEventRecordExternal"));
    record(event, stream);
  });
}

// ---- functions of the program ----

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* data) {
  return entry<"cudaLaunchHostFunc">([&] {
    const OnStream its = on(stream);
    require_valid(function != nullptr);
    refuse_recorded(its, "host functions in a graph");
    require(its.gpu->launch_host(its.id, [=](Status status) {
      if (status == 0) function(data);
    }));
  });
}
cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t callback, void* data,
                                  unsigned flags) {
  return entry<"cudaStreamAddCallback">([&] {
    const OnStream its = on(stream);
    require_valid(callback != nullptr && flags == 0);
    runtime().graphs.forbid(its);
    require(its.gpu->launch_host(its.id,
                                 [=](Status status) { callback(stream, to_error(status), data); }));
  });
}

// ---- memory ----

cudaError_t cudaMallocAsync(void** memory, std::size_t bytes, cudaStream_t stream) {
  return entry<"cudaMallocAsync">([&] {
    const OnStream its = on(stream);
    refuse_recorded(its, "cudaMallocAsync in a graph");
    allocate_pooled(memory, bytes, nullptr, its);
  });
}
cudaError_t cudaMallocFromPoolAsync(void** memory, std::size_t bytes, cudaMemPool_t pool,
                                    cudaStream_t stream) {
  return entry<"cudaMallocFromPoolAsync">([&] {
    const OnStream its = on(stream);
    require_valid(pool != nullptr);
    refuse_recorded(its, "cudaMallocFromPoolAsync in a graph");
    allocate_pooled(memory, bytes, pool, its);
  });
}
cudaError_t cudaFreeAsync(void* memory, cudaStream_t stream) {
  return entry<"cudaFreeAsync">([&] {
    const OnStream its = on(stream);
    refuse_recorded(its, "cudaFreeAsync in a graph");
    deallocate_pooled(memory, its);
  });
}

// ---- launches ----

// Called by nvcc's code; its headers declare it for nvcc only.
cudaError_t __CUDART_API_PTSZ(__cudaLaunchKernel)(cudaKernel_t kernel, dim3 grid, dim3 block,
                                                  void** arguments, std::size_t shared,
                                                  cudaStream_t stream) {
  return entry<"cudaLaunchKernel">(
      [&] { launch(kernel, {grid, block, shared, own(stream)}, arguments, {}); });
}
cudaError_t cudaLaunchKernel(const void* host, dim3 grid, dim3 block, void** arguments,
                             std::size_t shared, cudaStream_t stream) {
  return entry<"cudaLaunchKernel">(
      [&] { launch(host, {grid, block, shared, own(stream)}, arguments, {}); });
}
cudaError_t cudaLaunchCooperativeKernel(const void* host, dim3 grid, dim3 block, void** arguments,
                                        std::size_t shared, cudaStream_t stream) {
  return entry<"cudaLaunchCooperativeKernel">([&] {
    launch(host, {grid, block, shared, own(stream)}, arguments,
           {.cluster = {}, .cooperative = true});
  });
}
cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* host,
                                void** arguments) {
  return entry<"cudaLaunchKernelExC">([&] {
    require_valid(config != nullptr);
    launch(host,
           {.grid = config->gridDim,
            .block = config->blockDim,
            .shared = config->dynamicSmemBytes,
            .stream = own(config->stream)},
           arguments, options_of(*config));
  });
}

}  // extern "C"
