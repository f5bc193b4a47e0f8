// Entry points for streams and events.
#include <cuda_runtime_api.h>

#include "client/entry.h"

using namespace gpucast::remote;
using namespace gpucast::remote::client;

namespace {

// Makes an object of the current device that so far only the client knows.
DeviceObject announced(unsigned flags, int priority = 0) {
  return {.device = this_thread().device,
          .id = runtime().current().new_id(),
          .flags = flags,
          .priority = priority};
}

void create(cudaStream_t* stream, unsigned flags, int priority) {
  require_valid(stream != nullptr && (flags & ~unsigned{cudaStreamNonBlocking}) == 0);
  const DeviceObject made = announced(flags, priority);
  runtime().gpu(made).create_stream(made.id, flags, priority);
  *stream = runtime().streams.add(made);
}

void create(cudaEvent_t* event, unsigned flags) {
  constexpr unsigned allowed = cudaEventBlockingSync | cudaEventDisableTiming;
  require_valid(event != nullptr);
  refuse_if((flags & cudaEventInterprocess) != 0, "cudaEventInterprocess");
  require_valid((flags & ~allowed) == 0);
  const DeviceObject made = announced(flags);
  // The server need not know how the client waits.
  runtime().gpu(made).send(EventCreate{.event = made.id, .flags = flags & cudaEventDisableTiming});
  *event = runtime().events.add(made);
}

// Returns an event that was not recorded in a graph.
DeviceObject real(cudaEvent_t event) {
  runtime().graphs.require_real(event);
  return runtime().events.find(event);
}

}  // namespace

extern "C" {

cudaError_t cudaStreamCreate(cudaStream_t* stream) {
  return ENTRY(create(stream, cudaStreamDefault, 0));
}
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  return ENTRY(create(stream, flags, 0));
}
cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int priority) {
  return ENTRY(create(stream, flags, priority));
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  return entry([&] {
    const DeviceObject removed = runtime().streams.remove(stream);
    runtime().gpu(removed).destroy_stream(removed.id);
  });
}

cudaError_t cudaEventCreate(cudaEvent_t* event) { return ENTRY(create(event, cudaEventDefault)); }
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  return ENTRY(create(event, flags));
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  return entry([&] {
    const DeviceObject removed = runtime().events.remove(event);
    Gpu& gpu = runtime().gpu(removed);
    gpu.forget_event(removed.id);
    runtime().graphs.forget_event(event);
    gpu.send(EventDestroy{.event = removed.id});
  });
}
cudaError_t cudaEventQuery(cudaEvent_t event) {
  return entry([&] {
    const DeviceObject its = real(event);
    return runtime().gpu(its).query_event(its.id) ? cudaSuccess : cudaErrorNotReady;
  });
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  return entry([&] {
    const DeviceObject its = real(event);
    runtime().gpu(its).synchronize_event(its.id);
  });
}
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t first, cudaEvent_t second) {
  return entry([&] {
    const DeviceObject begin = real(first);
    const DeviceObject end = real(second);
    require_valid(milliseconds != nullptr);
    const bool timed = ((begin.flags | end.flags) & cudaEventDisableTiming) == 0;
    if (begin.device != end.device || !timed) throw Failure{cudaErrorInvalidResourceHandle};
    *milliseconds = runtime().gpu(begin).elapsed({begin.id, end.id});
  });
}

}  // extern "C"
