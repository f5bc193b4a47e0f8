#include "record_text.h"

#include <cstring>
#include <map>
#include <set>
#include <sstream>
#include <stdexcept>

namespace gpucast::trace::fake {
namespace {

class Fields {
 public:
  explicit Fields(std::istringstream& line) {
    for (std::string word{}; line >> word;) {
      const std::size_t equals = word.find('=');
      if (equals == std::string::npos) throw std::invalid_argument(word + ": not FIELD=VALUE");
      values_[word.substr(0, equals)] = word.substr(equals + 1);
    }
  }
  // Sets a record's field if it is stated.
  template <class Place>
  void set(const char* name, Place place) {
    const auto found = values_.find(name);
    if (found == values_.end()) return;
    place(found->second);
    values_.erase(found);
  }
  void require_all_known() const {
    if (!values_.empty()) throw std::invalid_argument(values_.begin()->first + ": no such field");
  }

 private:
  std::map<std::string, std::string> values_;
};

const char* lasting(const std::string& text) {
  // Never destroyed: records are handed over at the very end, too.
  static std::set<std::string>& texts = *new std::set<std::string>;
  return texts.insert(text).first->c_str();
}

template <class Record>
std::vector<std::byte> bytes_of(const Record& record) {
  std::vector<std::byte> result(sizeof(Record));
  std::memcpy(result.data(), &record, sizeof(Record));
  return result;
}

// Fields are packed, so they are assigned, never referred to.
#define GPUCAST_FIELD(name)                                              \
  fields.set(#name, [&](const std::string& text) {                       \
    record.name = static_cast<decltype(record.name)>(std::stoull(text)); \
  })
#define GPUCAST_TEXT(name) \
  fields.set(#name, [&](const std::string& text) { record.name = lasting(text); })

template <class Record>
void set_span(Record& record, Fields& fields) {
  GPUCAST_FIELD(start);
  GPUCAST_FIELD(end);
  GPUCAST_FIELD(correlationId);
}

template <class Record>
void set_place(Record& record, Fields& fields) {
  GPUCAST_FIELD(deviceId);
  GPUCAST_FIELD(contextId);
  GPUCAST_FIELD(streamId);
  GPUCAST_FIELD(graphId);
}

template <class Record>
void set_copy(Record& record, Fields& fields) {
  set_span(record, fields);
  set_place(record, fields);
  GPUCAST_FIELD(copyKind);
  GPUCAST_FIELD(srcKind);
  GPUCAST_FIELD(dstKind);
  GPUCAST_FIELD(flags);
  GPUCAST_FIELD(bytes);
  GPUCAST_FIELD(graphNodeId);
}

std::vector<std::byte> call(CUpti_ActivityKind kind, Fields& fields) {
  CUpti_ActivityAPI record{};
  record.kind = kind;
  set_span(record, fields);
  GPUCAST_FIELD(cbid);
  GPUCAST_FIELD(processId);
  GPUCAST_FIELD(threadId);
  GPUCAST_FIELD(returnValue);
  return bytes_of(record);
}

std::vector<std::byte> kernel(Fields& fields) {
  CUpti_ActivityKernel10 record{};
  record.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
  record.gridX = record.gridY = record.gridZ = 1;
  record.blockX = record.blockY = record.blockZ = 1;
  record.name = "kernel";
  set_span(record, fields);
  set_place(record, fields);
  GPUCAST_FIELD(gridX);
  GPUCAST_FIELD(gridY);
  GPUCAST_FIELD(gridZ);
  GPUCAST_FIELD(blockX);
  GPUCAST_FIELD(blockY);
  GPUCAST_FIELD(blockZ);
  GPUCAST_FIELD(staticSharedMemory);
  GPUCAST_FIELD(dynamicSharedMemory);
  GPUCAST_FIELD(registersPerThread);
  GPUCAST_FIELD(graphNodeId);
  GPUCAST_TEXT(name);
  return bytes_of(record);
}

std::vector<std::byte> copy(Fields& fields) {
  CUpti_ActivityMemcpy6 record{};
  record.kind = CUPTI_ACTIVITY_KIND_MEMCPY;
  record.copyCount = 1;
  set_copy(record, fields);
  return bytes_of(record);
}

std::vector<std::byte> peer_copy(Fields& fields) {
  CUpti_ActivityMemcpyPtoP4 record{};
  record.kind = CUPTI_ACTIVITY_KIND_MEMCPY2;
  set_copy(record, fields);
  GPUCAST_FIELD(srcDeviceId);
  GPUCAST_FIELD(dstDeviceId);
  return bytes_of(record);
}

std::vector<std::byte> set(Fields& fields) {
  CUpti_ActivityMemset4 record{};
  record.kind = CUPTI_ACTIVITY_KIND_MEMSET;
  set_span(record, fields);
  set_place(record, fields);
  GPUCAST_FIELD(bytes);
  GPUCAST_FIELD(flags);
  GPUCAST_FIELD(memoryKind);
  GPUCAST_FIELD(graphNodeId);
  return bytes_of(record);
}

std::vector<std::byte> graph(Fields& fields) {
  CUpti_ActivityGraphTrace2 record{};
  record.kind = CUPTI_ACTIVITY_KIND_GRAPH_TRACE;
  set_span(record, fields);
  set_place(record, fields);
  return bytes_of(record);
}

std::vector<std::byte> wait(Fields& fields) {
  CUpti_ActivitySynchronization2 record{};
  record.kind = CUPTI_ACTIVITY_KIND_SYNCHRONIZATION;
  record.streamId = CUPTI_SYNCHRONIZATION_INVALID_VALUE;
  record.cudaEventId = CUPTI_SYNCHRONIZATION_INVALID_VALUE;
  record.cudaEventSyncId = CUPTI_SYNCHRONIZATION_INVALID_VALUE;
  set_span(record, fields);
  GPUCAST_FIELD(type);
  GPUCAST_FIELD(contextId);
  GPUCAST_FIELD(streamId);
  GPUCAST_FIELD(cudaEventId);
  GPUCAST_FIELD(cudaEventSyncId);
  return bytes_of(record);
}

std::vector<std::byte> event(Fields& fields) {
  CUpti_ActivityCudaEvent2 record{};
  record.kind = CUPTI_ACTIVITY_KIND_CUDA_EVENT;
  GPUCAST_FIELD(correlationId);
  GPUCAST_FIELD(contextId);
  GPUCAST_FIELD(streamId);
  GPUCAST_FIELD(eventId);
  GPUCAST_FIELD(deviceId);
  GPUCAST_FIELD(cudaEventSyncId);
  return bytes_of(record);
}

std::vector<std::byte> marker(Fields& fields) {
  CUpti_ActivityMarker2 record{};
  record.kind = CUPTI_ACTIVITY_KIND_MARKER;
  record.objectKind = CUPTI_ACTIVITY_OBJECT_THREAD;
  GPUCAST_FIELD(flags);
  GPUCAST_FIELD(timestamp);
  GPUCAST_FIELD(id);
  GPUCAST_TEXT(name);
  GPUCAST_TEXT(domain);
  fields.set("threadId", [&](const std::string& text) {
    record.objectId.pt.threadId = static_cast<std::uint32_t>(std::stoul(text));
  });
  return bytes_of(record);
}

std::vector<std::byte> context(Fields& fields) {
  CUpti_ActivityContext3 record{};
  record.kind = CUPTI_ACTIVITY_KIND_CONTEXT;
  GPUCAST_FIELD(contextId);
  GPUCAST_FIELD(deviceId);
  GPUCAST_FIELD(nullStreamId);
  return bytes_of(record);
}

std::vector<std::byte> stream(Fields& fields) {
  CUpti_ActivityStream record{};
  record.kind = CUPTI_ACTIVITY_KIND_STREAM;
  GPUCAST_FIELD(contextId);
  GPUCAST_FIELD(streamId);
  GPUCAST_FIELD(flag);
  return bytes_of(record);
}

#undef GPUCAST_FIELD
#undef GPUCAST_TEXT

std::vector<std::byte> of_kind(const std::string& kind, Fields& fields) {
  if (kind == "runtime") return call(CUPTI_ACTIVITY_KIND_RUNTIME, fields);
  if (kind == "driver") return call(CUPTI_ACTIVITY_KIND_DRIVER, fields);
  if (kind == "kernel") return kernel(fields);
  if (kind == "copy") return copy(fields);
  if (kind == "peer-copy") return peer_copy(fields);
  if (kind == "memset") return set(fields);
  if (kind == "graph") return graph(fields);
  if (kind == "wait") return wait(fields);
  if (kind == "event") return event(fields);
  if (kind == "marker") return marker(fields);
  if (kind == "context") return context(fields);
  if (kind == "stream") return stream(fields);
  throw std::invalid_argument(kind + ": no such record");
}

}  // namespace

std::vector<std::byte> record_from_text(const std::string& line) {
  std::istringstream words(line);
  std::string kind;
  words >> kind;
  Fields fields(words);
  std::vector<std::byte> result = of_kind(kind, fields);
  fields.require_all_known();
  return result;
}

}  // namespace gpucast::trace::fake
