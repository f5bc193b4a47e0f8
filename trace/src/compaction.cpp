#include "compaction.h"

#include <cxxabi.h>

#include <cstdlib>
#include <limits>

#include "call_names.h"

namespace gpucast::trace {
namespace {

template <class Record>
const Record& as(const CUpti_Activity& record) {
  return reinterpret_cast<const Record&>(record);  // as in CUPTI's samples: the kind tells the type
}

// A value that does not fit becomes the largest that does; in practice no value comes near it.
template <class To, class From>
To fitting(From value) {
  if (std::cmp_greater(value, std::numeric_limits<To>::max()))
    return std::numeric_limits<To>::max();
  return std::cmp_less(value, 0) ? To{0} : static_cast<To>(value);
}

std::int64_t time_of(std::uint64_t nanoseconds) { return static_cast<std::int64_t>(nanoseconds); }

std::uint32_t valid(std::uint32_t id) { return id == CUPTI_SYNCHRONIZATION_INVALID_VALUE ? 0 : id; }

std::uint64_t valid(std::uint64_t id) {
  return id == CUPTI_SYNCHRONIZATION_INVALID_VALUE || id == ~std::uint64_t{0} ? 0 : id;
}

bool within(const Call& inner, const Call& outer) {
  return inner.start_ns >= outer.start_ns && inner.end_ns <= outer.end_ns;
}

std::string demangled(const char* name) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> result(
      abi::__cxa_demangle(name, nullptr, nullptr, &status), &std::free);
  return status == 0 ? result.get() : name;
}

// Every record of GPU work has these fields. The other fields of `work` are 0.
template <class Record>
Work work_of(WorkKind kind, const Record& record) {
  Work work{};
  work.kind = static_cast<std::uint8_t>(kind);
  work.start_ns = time_of(record.start);
  work.end_ns = time_of(record.end);
  work.correlation = record.correlationId;
  work.device = fitting<std::uint16_t>(record.deviceId);
  work.context = fitting<std::uint16_t>(record.contextId);
  work.stream = record.streamId;
  work.graph = record.graphId;
  return work;
}

// Converts everything but the name.
Work kernel_of(const CUpti_ActivityKernel10& record) {
  Work work = work_of(WorkKind::kernel, record);
  work.node = record.graphNodeId;
  work.blocks = fitting<std::uint32_t>(std::int64_t{record.gridX} * record.gridY * record.gridZ);
  work.threads =
      fitting<std::uint32_t>(std::int64_t{record.blockX} * record.blockY * record.blockZ);
  work.shared_bytes =
      fitting<std::uint32_t>(std::int64_t{record.staticSharedMemory} + record.dynamicSharedMemory);
  work.registers = record.registersPerThread;
  return work;
}

template <class Record>
Work copy_of(const Record& record) {
  Work work = work_of(WorkKind::copy, record);
  work.node = record.graphNodeId;
  work.bytes = fitting<std::int64_t>(record.bytes);
  work.direction = record.copyKind;
  work.from_memory = record.srcKind;
  work.to_memory = record.dstKind;
  work.asynchronous = (record.flags & CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC) != 0 ? 1 : 0;
  if constexpr (requires { record.srcDeviceId; }) {
    work.from_device = fitting<std::uint16_t>(record.srcDeviceId);
    work.to_device = fitting<std::uint16_t>(record.dstDeviceId);
  }
  return work;
}

Work memset_of(const CUpti_ActivityMemset4& record) {
  Work work = work_of(WorkKind::memset, record);
  work.node = record.graphNodeId;
  work.bytes = fitting<std::int64_t>(record.bytes);
  work.to_memory = fitting<std::uint8_t>(record.memoryKind);
  work.asynchronous = (record.flags & CUPTI_ACTIVITY_FLAG_MEMSET_ASYNC) != 0 ? 1 : 0;
  return work;
}

// Inner calls whose GPU work may still arrive: this many are remembered, and as many older ones.
constexpr std::size_t remembered_inner_calls = 1 << 18;

}  // namespace

Compaction::Compaction(Tables& tables, CallName call_name, std::int64_t from_ns)
    : tables_(tables), names_(tables.names), call_name_(std::move(call_name)), from_ns_(from_ns) {}

void Compaction::add(const CUpti_Activity& record) {
  switch (record.kind) {
    case CUPTI_ACTIVITY_KIND_RUNTIME:
    case CUPTI_ACTIVITY_KIND_DRIVER:
      return add_call(as<CUpti_ActivityAPI>(record));
    case CUPTI_ACTIVITY_KIND_KERNEL:
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL: {
      const auto& kernel = as<CUpti_ActivityKernel10>(record);
      Work work = kernel_of(kernel);
      work.name = name_of_kernel(kernel.name);
      return add_work(work);
    }
    case CUPTI_ACTIVITY_KIND_MEMCPY:
      return add_work(copy_of(as<CUpti_ActivityMemcpy6>(record)));
    case CUPTI_ACTIVITY_KIND_MEMCPY2:
      return add_work(copy_of(as<CUpti_ActivityMemcpyPtoP4>(record)));
    case CUPTI_ACTIVITY_KIND_MEMSET:
      return add_work(memset_of(as<CUpti_ActivityMemset4>(record)));
    case CUPTI_ACTIVITY_KIND_GRAPH_TRACE:
      return add_work(work_of(WorkKind::graph, as<CUpti_ActivityGraphTrace2>(record)));
    case CUPTI_ACTIVITY_KIND_SYNCHRONIZATION:
      return add_wait(as<CUpti_ActivitySynchronization2>(record));
    case CUPTI_ACTIVITY_KIND_CUDA_EVENT:
      return add_recorded_event(as<CUpti_ActivityCudaEvent2>(record));
    case CUPTI_ACTIVITY_KIND_MARKER:
      return add_marker(as<CUpti_ActivityMarker2>(record));
    case CUPTI_ACTIVITY_KIND_CONTEXT:
      return add_context(as<CUpti_ActivityContext3>(record));
    case CUPTI_ACTIVITY_KIND_STREAM:
      return add_stream(as<CUpti_ActivityStream>(record));
    default:
      ++counts_.unknown;
  }
}

// --- calls ------------------------------------------------------------------------------------

void Compaction::add_call(const CUpti_ActivityAPI& record) {
  const bool runtime = record.kind == CUPTI_ACTIVITY_KIND_RUNTIME;
  const auto domain = runtime ? CUPTI_CB_DOMAIN_RUNTIME_API : CUPTI_CB_DOMAIN_DRIVER_API;
  Thread& thread = this->thread(record.threadId);
  const Call call{.start_ns = time_of(record.start),
                  .end_ns = time_of(record.end),
                  .correlation = record.correlationId,
                  .thread = thread.number,
                  .name = name_of_call(domain, record.cbid),
                  .result = fitting<std::uint16_t>(record.returnValue)};
  // A call that another one makes ends before it, so that its record arrives first; a thread's last
  // calls are kept until a call arrives that they do not belong to. The driver never calls the
  // runtime.
  if (runtime) {
    for (const Pending& earlier : thread.pending)
      if (within(earlier.call, call))
        leave_out(earlier.call, call);
      else
        keep(earlier.call);
    thread.pending.clear();
  }
  if (within(call, thread.last_runtime_call)) return leave_out(call, thread.last_runtime_call);
  if (runtime) thread.last_runtime_call = call;
  // It belongs to a call of the runtime that has not ended, or to none.
  thread.pending.push_back({call, 0});
}

void Compaction::settle(bool everything) {
  for (auto& [id, thread] : threads_) {
    std::erase_if(thread.pending, [&](Pending& pending) {
      const bool due = everything || ++pending.age >= 2;
      if (due) keep(pending.call);
      return due;
    });
  }
  for (Polling& polling : polling_) {
    if (everything && polling.last) write(*polling.last);
    if (everything) polling = {};
  }
  // Streams that are still without a device at the end belong to a context from before the
  // recording.
  std::vector<CUpti_ActivityStream> streams;
  std::swap(streams, streams_without_device_);
  for (const CUpti_ActivityStream& stream : streams) {
    if (everything) device_of_context_.try_emplace(stream.contextId, std::uint16_t{0});
    add_stream(stream);
  }
}

// A polling loop makes millions of calls a second; the first and the last of them contain all the
// information.
void Compaction::keep(const Call& call) {
  if (call.start_ns < from_ns_) return;
  if (call.thread >= polling_.size()) polling_.resize(std::size_t{call.thread} + 1);
  Polling& polling = polling_[call.thread];
  constexpr std::uint16_t not_ready = 600;  // the same for runtime and driver
  const bool polls = call.result == not_ready && queries_.contains(call.name);
  if (polls && polling.name == call.name) {
    if (polling.last) ++counts_.polls;
    polling.last = call;
    return;
  }
  if (polling.last) write(*polling.last);
  polling = {.name = polls ? call.name : 0, .last = std::nullopt};
  write(call);
}

void Compaction::write(const Call& call) {
  ++counts_.calls;
  if (call.result == 0 && launches_.contains(call.name)) ++counts_.launches;
  tables_.calls.add(call);
}

void Compaction::leave_out(const Call& inner, const Call& outer) {
  ++counts_.inner;
  if (inner.correlation == outer.correlation) return;
  if (outer_call_.size() >= remembered_inner_calls) {
    older_outer_call_ = std::move(outer_call_);
    outer_call_.clear();
  }
  outer_call_[inner.correlation] = outer.correlation;
}

std::uint32_t Compaction::outermost(std::uint32_t correlation) const {
  for (const auto* calls : {&outer_call_, &older_outer_call_}) {
    if (calls->empty()) continue;
    if (const auto outer = calls->find(correlation); outer != calls->end()) return outer->second;
  }
  return correlation;
}

// --- GPU work ---------------------------------------------------------------------------------

void Compaction::add_work(Work work) {
  if (work.start_ns == 0 || work.end_ns == 0) {
    ++counts_.untimed;
    return;
  }
  if (work.start_ns < from_ns_) return;
  work.correlation = outermost(work.correlation);
  ++counts_.work;
  if (work.kind == static_cast<std::uint8_t>(WorkKind::kernel)) ++counts_.kernels;
  tables_.work.add(work);
}

// --- waits, ranges, streams ---------------------------------------------------------------------

void Compaction::add_wait(const CUpti_ActivitySynchronization2& record) {
  if (time_of(record.start) < from_ns_) return;
  tables_.waits.add({.kind = fitting<std::uint8_t>(static_cast<int>(record.type)),
                     .start_ns = time_of(record.start),
                     .end_ns = time_of(record.end),
                     .correlation = outermost(record.correlationId),
                     .context = fitting<std::uint16_t>(record.contextId),
                     .stream = valid(record.streamId),
                     .event = valid(record.cudaEventId),
                     .recording = valid(record.cudaEventSyncId)});
}

void Compaction::add_recorded_event(const CUpti_ActivityCudaEvent2& record) {
  tables_.waits.add({.kind = static_cast<std::uint8_t>(WaitKind::recorded),
                     .start_ns = 0,
                     .end_ns = 0,
                     .correlation = outermost(record.correlationId),
                     .context = fitting<std::uint16_t>(record.contextId),
                     .stream = valid(record.streamId),
                     .event = valid(record.eventId),
                     .recording = valid(record.cudaEventSyncId)});
}

// A range consists of two markers with one id. A range that has not ended is dropped.
void Compaction::add_marker(const CUpti_ActivityMarker2& record) {
  const std::int64_t time = time_of(record.timestamp);
  if ((record.flags & CUPTI_ACTIVITY_FLAG_MARKER_START) != 0) {
    const bool of_thread = record.objectKind == CUPTI_ACTIVITY_OBJECT_THREAD;
    open_ranges_[record.id] = {
        .start_ns = time,
        .end_ns = 0,
        .thread = of_thread ? thread(record.objectId.pt.threadId).number : std::uint16_t{0},
        .name = record.name == nullptr ? 0 : names_.id(record.name),
        .domain = record.domain == nullptr ? 0 : names_.id(record.domain)};
  } else if ((record.flags & CUPTI_ACTIVITY_FLAG_MARKER_END) != 0) {
    const auto open = open_ranges_.find(record.id);
    if (open == open_ranges_.end()) return;
    Range range = open->second;
    range.end_ns = time;
    if (range.start_ns >= from_ns_) tables_.ranges.add(range);
    open_ranges_.erase(open);
  }
}

void Compaction::add_context(const CUpti_ActivityContext3& record) {
  const auto device = fitting<std::uint16_t>(record.deviceId);
  if (!device_of_context_.try_emplace(record.contextId, device).second) return;
  constexpr std::uint8_t legacy_default_stream = CUPTI_ACTIVITY_STREAM_CREATE_FLAG_NULL;
  tables_.streams.add({.context = fitting<std::uint16_t>(record.contextId),
                       .device = device,
                       .stream = record.nullStreamId,
                       .flags = legacy_default_stream});
}

void Compaction::add_stream(const CUpti_ActivityStream& record) {
  // The record of its context has the same information.
  if (record.flag == CUPTI_ACTIVITY_STREAM_CREATE_FLAG_NULL) return;
  const auto context = device_of_context_.find(record.contextId);
  if (context == device_of_context_.end()) {
    streams_without_device_.push_back(record);
    return;
  }
  tables_.streams.add({.context = fitting<std::uint16_t>(record.contextId),
                       .device = context->second,
                       .stream = record.streamId,
                       .flags = fitting<std::uint8_t>(static_cast<int>(record.flag))});
}

// --- names and numbers --------------------------------------------------------------------------

Compaction::Thread& Compaction::thread(std::uint32_t id) {
  const auto next = fitting<std::uint16_t>(threads_.size());
  return threads_.try_emplace(id, Thread{.number = next, .last_runtime_call = {}, .pending = {}})
      .first->second;
}

std::uint32_t Compaction::name_of_call(CUpti_CallbackDomain domain, CUpti_CallbackId id) {
  const std::uint64_t key = (std::uint64_t{static_cast<unsigned>(domain)} << 32) | id;
  const auto [place, added] = call_names_.try_emplace(key, 0);
  if (added) {
    const std::string known = plain_name(call_name_(domain, id));
    const bool runtime = domain == CUPTI_CB_DOMAIN_RUNTIME_API;
    place->second =
        names_.id(!known.empty() ? known : (runtime ? "cuda#" : "cu#") + std::to_string(id));
    if (launches_kernel(known)) launches_.insert(place->second);
    if (is_query(known)) queries_.insert(place->second);
  }
  return place->second;
}

std::uint32_t Compaction::name_of_kernel(const char* mangled) {
  if (mangled == nullptr) return 0;
  const auto [place, added] = kernel_names_.try_emplace(mangled, 0);
  if (added) place->second = names_.id(demangled(mangled));
  return place->second;
}

}  // namespace gpucast::trace
