// Streams and events.
#include <cuda_runtime_api.h>

#include <chrono>

#include "client/entry.h"

using namespace gpucast::remote;
using namespace gpucast::remote::client;

namespace {

cudaError_t create(cudaStream_t* stream, unsigned flags, int priority) {
  if (stream == nullptr || (flags & ~unsigned{cudaStreamNonBlocking}) != 0)
    return cudaErrorInvalidValue;
  const int device = this_thread().device;
  Gpu& gpu = runtime().gpu(device);
  const Id id = gpu.new_id();
  require(gpu.create_stream(id, flags, priority));
  *stream = runtime().add(
      StreamOfProgram{.device = device, .id = id, .flags = flags, .priority = priority});
  return cudaSuccess;
}

cudaError_t create(cudaEvent_t* event, unsigned flags) {
  constexpr unsigned allowed = cudaEventBlockingSync | cudaEventDisableTiming;
  if (event == nullptr) return cudaErrorInvalidValue;
  if ((flags & cudaEventInterprocess) != 0) return runtime().unsupported("cudaEventInterprocess");
  if ((flags & ~allowed) != 0) return cudaErrorInvalidValue;
  const int device = this_thread().device;
  Gpu& gpu = runtime().gpu(device);
  const Id id = gpu.new_id();
  // How the client waits does not concern the server.
  require(gpu.tell(EventCreate{.event = id, .flags = flags & cudaEventDisableTiming}));
  *event = runtime().add(EventOfProgram{.device = device, .id = id, .flags = flags});
  return cudaSuccess;
}

cudaError_t record(cudaEvent_t handle, cudaStream_t stream) {
  const EventOfProgram event = runtime().find(handle);
  const OnStream on = runtime().stream(stream);
  if (event.device != on.device) return cudaErrorInvalidResourceHandle;
  return to_error(on.gpu->record_event(event.id, on.id));
}

cudaError_t synchronize(cudaStream_t stream) {
  const OnStream on = runtime().stream(stream);
  return to_error(on.gpu->synchronize_stream(on.id));
}

cudaError_t query(cudaStream_t stream) {
  const OnStream on = runtime().stream(stream);
  return to_error(on.gpu->query_stream(on.id));
}

// Between servers the host waits: an event is not known beyond its own.
cudaError_t wait_for(cudaStream_t stream, cudaEvent_t handle, unsigned flags) {
  const OnStream on = runtime().stream(stream);
  const EventOfProgram event = runtime().find(handle);
  if (flags != cudaEventWaitDefault) return runtime().unsupported("cudaEventWaitExternal");
  if (event.device != on.device) {
    return to_error(runtime().gpu(event.device).synchronize_event(event.id));
  }
  return to_error(on.gpu->wait_event(on.id, event.id));
}

StreamOfProgram facts(cudaStream_t stream) {
  if (stream == nullptr || stream == cudaStreamLegacy || stream == cudaStreamPerThread) {
    const OnStream on = runtime().stream(stream);
    return {.device = on.device, .id = on.id};
  }
  return runtime().find(stream);
}

cudaError_t flags_of(cudaStream_t stream, unsigned* flags) {
  if (flags == nullptr) return cudaErrorInvalidValue;
  *flags = facts(stream).flags;
  return cudaSuccess;
}

cudaError_t priority_of(cudaStream_t stream, int* priority) {
  if (priority == nullptr) return cudaErrorInvalidValue;
  *priority = facts(stream).priority;
  return cudaSuccess;
}

cudaError_t device_of(cudaStream_t stream, int* device) {
  if (device == nullptr) return cudaErrorInvalidValue;
  *device = facts(stream).device;
  return cudaSuccess;
}

// Ids of several servers' streams differ too.
cudaError_t id_of(cudaStream_t stream, unsigned long long* id) {
  if (id == nullptr) return cudaErrorInvalidValue;
  const StreamOfProgram found = facts(stream);
  constexpr unsigned device_bits = 48;
  *id = static_cast<unsigned long long>(found.device) << device_bits | found.id;
  return cudaSuccess;
}

cudaError_t not_capturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
  if (status == nullptr) return cudaErrorInvalidValue;
  facts(stream);
  *status = cudaStreamCaptureStatusNone;
  return cudaSuccess;
}

}  // namespace

extern "C" {

cudaError_t cudaStreamCreate(cudaStream_t* stream) {
  return entry<"cudaStreamCreate">([&] { return create(stream, cudaStreamDefault, 0); });
}
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  return entry<"cudaStreamCreateWithFlags">([&] { return create(stream, flags, 0); });
}
cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int priority) {
  return entry<"cudaStreamCreateWithPriority">([&] { return create(stream, flags, priority); });
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  return entry<"cudaStreamDestroy">([&] {
    const StreamOfProgram found = runtime().find(stream);
    runtime().remove(stream);
    return to_error(runtime().gpu(found.device).destroy_stream(found.id));
  });
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  return entry<"cudaStreamSynchronize">([&] { return synchronize(stream); });
}
cudaError_t cudaStreamSynchronize_ptsz(cudaStream_t stream) {
  return entry<"cudaStreamSynchronize">([&] { return synchronize(own(stream)); });
}
cudaError_t cudaStreamQuery(cudaStream_t stream) {
  return entry<"cudaStreamQuery">([&] { return query(stream); });
}
cudaError_t cudaStreamQuery_ptsz(cudaStream_t stream) {
  return entry<"cudaStreamQuery">([&] { return query(own(stream)); });
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags) {
  return entry<"cudaStreamWaitEvent">([&] { return wait_for(stream, event, flags); });
}
cudaError_t cudaStreamWaitEvent_ptsz(cudaStream_t stream, cudaEvent_t event, unsigned flags) {
  return entry<"cudaStreamWaitEvent">([&] { return wait_for(own(stream), event, flags); });
}
cudaError_t cudaStreamGetFlags(cudaStream_t stream, unsigned* flags) {
  return entry<"cudaStreamGetFlags">([&] { return flags_of(stream, flags); });
}
cudaError_t cudaStreamGetFlags_ptsz(cudaStream_t stream, unsigned* flags) {
  return entry<"cudaStreamGetFlags">([&] { return flags_of(own(stream), flags); });
}
cudaError_t cudaStreamGetPriority(cudaStream_t stream, int* priority) {
  return entry<"cudaStreamGetPriority">([&] { return priority_of(stream, priority); });
}
cudaError_t cudaStreamGetPriority_ptsz(cudaStream_t stream, int* priority) {
  return entry<"cudaStreamGetPriority">([&] { return priority_of(own(stream), priority); });
}
cudaError_t cudaStreamGetDevice(cudaStream_t stream, int* device) {
  return entry<"cudaStreamGetDevice">([&] { return device_of(stream, device); });
}
cudaError_t cudaStreamGetDevice_ptsz(cudaStream_t stream, int* device) {
  return entry<"cudaStreamGetDevice">([&] { return device_of(own(stream), device); });
}
cudaError_t cudaStreamGetId(cudaStream_t stream, unsigned long long* id) {
  return entry<"cudaStreamGetId">([&] { return id_of(stream, id); });
}
cudaError_t cudaStreamGetId_ptsz(cudaStream_t stream, unsigned long long* id) {
  return entry<"cudaStreamGetId">([&] { return id_of(own(stream), id); });
}
cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
  return entry<"cudaStreamIsCapturing">([&] { return not_capturing(stream, status); });
}
cudaError_t cudaStreamIsCapturing_ptsz(cudaStream_t stream, cudaStreamCaptureStatus* status) {
  return entry<"cudaStreamIsCapturing">([&] { return not_capturing(own(stream), status); });
}

cudaError_t cudaEventCreate(cudaEvent_t* event) {
  return entry<"cudaEventCreate">([&] { return create(event, cudaEventDefault); });
}
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  return entry<"cudaEventCreateWithFlags">([&] { return create(event, flags); });
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  return entry<"cudaEventDestroy">([&] {
    const EventOfProgram found = runtime().find(event);
    runtime().remove(event);
    Gpu& gpu = runtime().gpu(found.device);
    gpu.forget_event(found.id);
    return to_error(gpu.tell(EventDestroy{.event = found.id}));
  });
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  return entry<"cudaEventRecord">([&] { return record(event, stream); });
}
cudaError_t cudaEventRecord_ptsz(cudaEvent_t event, cudaStream_t stream) {
  return entry<"cudaEventRecord">([&] { return record(event, own(stream)); });
}
cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned flags) {
  return entry<"cudaEventRecordWithFlags">([&] {
    if (flags != cudaEventRecordDefault) return runtime().unsupported("cudaEventRecordExternal");
    return record(event, stream);
  });
}
cudaError_t cudaEventRecordWithFlags_ptsz(cudaEvent_t event, cudaStream_t stream, unsigned flags) {
  return cudaEventRecordWithFlags(event, own(stream), flags);
}
cudaError_t cudaEventQuery(cudaEvent_t event) {
  return entry<"cudaEventQuery">([&] {
    const EventOfProgram found = runtime().find(event);
    return to_error(runtime().gpu(found.device).query_event(found.id));
  });
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  return entry<"cudaEventSynchronize">([&] {
    const EventOfProgram found = runtime().find(event);
    return to_error(runtime().gpu(found.device).synchronize_event(found.id));
  });
}
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t first, cudaEvent_t second) {
  return entry<"cudaEventElapsedTime">([&] {
    const EventOfProgram begin = runtime().find(first);
    const EventOfProgram end = runtime().find(second);
    const bool timed = ((begin.flags | end.flags) & cudaEventDisableTiming) == 0;
    if (milliseconds == nullptr) return cudaErrorInvalidValue;
    if (begin.device != end.device || !timed) return cudaErrorInvalidResourceHandle;
    return to_error(runtime().gpu(begin.device).elapsed({begin.id, end.id}, *milliseconds));
  });
}

}  // extern "C"
