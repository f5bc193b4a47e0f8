// Streams and events.
#include <cuda_runtime_api.h>

#include "client/entry.h"

using namespace gpucast::remote;
using namespace gpucast::remote::client;

namespace {

// A new one of the current device, as far as the client knows it.
DeviceObject announced(unsigned flags, int priority = 0) {
  const int device = this_thread().device;
  const Id id = runtime().gpu(device).new_id();
  return {.device = device, .id = id, .flags = flags, .priority = priority};
}

void create(cudaStream_t* stream, unsigned flags, int priority) {
  require_valid(stream != nullptr && (flags & ~unsigned{cudaStreamNonBlocking}) == 0);
  const DeviceObject made = announced(flags, priority);
  require(runtime().gpu(made.device).create_stream(made.id, flags, priority));
  *stream = runtime().streams.add(made);
}

void create(cudaEvent_t* event, unsigned flags) {
  constexpr unsigned allowed = cudaEventBlockingSync | cudaEventDisableTiming;
  require_valid(event != nullptr);
  if ((flags & cudaEventInterprocess) != 0) require(runtime().unsupported("cudaEventInterprocess"));
  require_valid((flags & ~allowed) == 0);
  const DeviceObject made = announced(flags);
  // How the client waits does not concern the server.
  require(runtime()
              .gpu(made.device)
              .send(EventCreate{.event = made.id, .flags = flags & cudaEventDisableTiming}));
  *event = runtime().events.add(made);
}

}  // namespace

extern "C" {

cudaError_t cudaStreamCreate(cudaStream_t* stream) {
  return entry<"cudaStreamCreate">([&] { create(stream, cudaStreamDefault, 0); });
}
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  return entry<"cudaStreamCreateWithFlags">([&] { create(stream, flags, 0); });
}
cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int priority) {
  return entry<"cudaStreamCreateWithPriority">([&] { create(stream, flags, priority); });
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  return entry<"cudaStreamDestroy">([&] {
    const DeviceObject found = runtime().streams.remove(stream);
    require(runtime().gpu(found.device).destroy_stream(found.id));
  });
}

cudaError_t cudaEventCreate(cudaEvent_t* event) {
  return entry<"cudaEventCreate">([&] { create(event, cudaEventDefault); });
}
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  return entry<"cudaEventCreateWithFlags">([&] { create(event, flags); });
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  return entry<"cudaEventDestroy">([&] {
    const DeviceObject found = runtime().events.remove(event);
    Gpu& gpu = runtime().gpu(found.device);
    gpu.forget_event(found.id);
    runtime().graphs.forget_event(event);
    require(gpu.send(EventDestroy{.event = found.id}));
  });
}
cudaError_t cudaEventQuery(cudaEvent_t event) {
  return entry<"cudaEventQuery">([&] {
    runtime().graphs.require_real(event);
    const DeviceObject found = runtime().events.find(event);
    return to_error(runtime().gpu(found.device).query_event(found.id));
  });
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  return entry<"cudaEventSynchronize">([&] {
    runtime().graphs.require_real(event);
    const DeviceObject found = runtime().events.find(event);
    require(runtime().gpu(found.device).synchronize_event(found.id));
  });
}
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t first, cudaEvent_t second) {
  return entry<"cudaEventElapsedTime">([&] {
    const DeviceObject begin = runtime().events.find(first);
    const DeviceObject end = runtime().events.find(second);
    const bool timed = ((begin.flags | end.flags) & cudaEventDisableTiming) == 0;
    require_valid(milliseconds != nullptr);
    runtime().graphs.require_real(first);
    runtime().graphs.require_real(second);
    if (begin.device != end.device || !timed) throw Failure{cudaErrorInvalidResourceHandle};
    require(runtime().gpu(begin.device).elapsed({begin.id, end.id}, *milliseconds));
  });
}

}  // extern "C"
