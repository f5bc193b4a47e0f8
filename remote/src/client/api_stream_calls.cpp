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
  if (event.device != its.device) throw Failure{cudaErrorInvalidResourceHandle};
  require(its.gpu->record_event(event.id, its.id));
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
    require(its.gpu->synchronize_stream(its.id));
  });
}
cudaError_t cudaStreamQuery(cudaStream_t stream) {
  return entry<"cudaStreamQuery">([&] {
    const OnStream its = on(stream);
    return to_error(its.gpu->query_stream(its.id));
  });
}
// Between servers the host waits: an event is not known beyond its own.
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t handle, unsigned flags) {
  return entry<"cudaStreamWaitEvent">([&] {
    const OnStream its = on(stream);
    const DeviceObject event = runtime().events.find(handle);
    if (flags != cudaEventWaitDefault) require(runtime().unsupported("cudaEventWaitExternal"));
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
cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
  return entry<"cudaStreamIsCapturing">([&] {
    facts(stream);
    give(status, cudaStreamCaptureStatusNone);
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

// ---- memory ----

cudaError_t cudaMallocAsync(void** memory, std::size_t bytes, cudaStream_t stream) {
  return entry<"cudaMallocAsync">([&] {
    on(stream);
    allocate(memory, bytes);
  });
}
// The server frees once all of the GPU's work is done, which is later than the stream's.
cudaError_t cudaFreeAsync(void* memory, cudaStream_t stream) {
  return entry<"cudaFreeAsync">([&] {
    on(stream);
    deallocate(memory);
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
