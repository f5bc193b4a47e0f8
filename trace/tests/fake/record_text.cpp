#include "record_text.h"

#include <cstring>
#include <map>
#include <set>
#include <sstream>
#include <stdexcept>

namespace gpucast::trace::fake {
namespace {

using Fields = std::map<std::string, std::string>;

Fields fields_of(std::istringstream& line) {
  Fields fields;
  for (std::string word{}; line >> word;) {
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos) throw std::invalid_argument(word + ": not FIELD=VALUE");
    fields[word.substr(0, equals)] = word.substr(equals + 1);
  }
  return fields;
}

template <class Value>
Value as(const std::string& text) {
  return static_cast<Value>(std::stoull(text));
}
template <>
const char* as<const char*>(const std::string& text) {
  // Never destroyed: records are returned at the very end of the process, too.
  static std::set<std::string>& texts = *new std::set<std::string>;
  return texts.insert(text).first->c_str();
}

// Sets the given fields of the record, all of which must exist. Fields are packed, so that they are
// assigned and never referenced.
template <class Record>
std::vector<std::byte> with(CUpti_ActivityKind kind, Fields fields) {
  Record record{};
  record.kind = kind;
#define GPUCAST_FIELD(name)                                                          \
  if constexpr (requires { record.name; }) {                                         \
    if (const auto stated = fields.extract(#name); !stated.empty())                  \
      record.name = as<std::remove_cvref_t<decltype(record.name)>>(stated.mapped()); \
  }
  GPUCAST_FIELD(start)
  GPUCAST_FIELD(end)
  GPUCAST_FIELD(timestamp)
  GPUCAST_FIELD(correlationId)
  GPUCAST_FIELD(cbid)
  GPUCAST_FIELD(processId)
  GPUCAST_FIELD(threadId)
  GPUCAST_FIELD(returnValue)
  GPUCAST_FIELD(deviceId)
  GPUCAST_FIELD(contextId)
  GPUCAST_FIELD(streamId)
  GPUCAST_FIELD(nullStreamId)
  GPUCAST_FIELD(graphId)
  GPUCAST_FIELD(graphNodeId)
  GPUCAST_FIELD(gridX)
  GPUCAST_FIELD(gridY)
  GPUCAST_FIELD(gridZ)
  GPUCAST_FIELD(blockX)
  GPUCAST_FIELD(blockY)
  GPUCAST_FIELD(blockZ)
  GPUCAST_FIELD(staticSharedMemory)
  GPUCAST_FIELD(dynamicSharedMemory)
  GPUCAST_FIELD(registersPerThread)
  GPUCAST_FIELD(copyKind)
  GPUCAST_FIELD(srcKind)
  GPUCAST_FIELD(dstKind)
  GPUCAST_FIELD(srcDeviceId)
  GPUCAST_FIELD(dstDeviceId)
  GPUCAST_FIELD(memoryKind)
  GPUCAST_FIELD(bytes)
  GPUCAST_FIELD(flags)
  GPUCAST_FIELD(flag)
  GPUCAST_FIELD(type)
  GPUCAST_FIELD(id)
  GPUCAST_FIELD(name)
  GPUCAST_FIELD(domain)
  GPUCAST_FIELD(eventId)
  GPUCAST_FIELD(cudaEventId)
  GPUCAST_FIELD(cudaEventSyncId)
  if constexpr (requires { record.objectKind; }) {  // the thread of a range
    record.objectKind = CUPTI_ACTIVITY_OBJECT_THREAD;
    if (const auto thread = fields.extract("threadId"); !thread.empty())
      record.objectId.pt.threadId = as<std::uint32_t>(thread.mapped());
  }
#undef GPUCAST_FIELD
  if (!fields.empty()) throw std::invalid_argument(fields.begin()->first + ": no such field");
  std::vector<std::byte> result(sizeof(Record));
  std::memcpy(result.data(), &record, sizeof(Record));
  return result;
}

std::vector<std::byte> filled(const std::string& kind, Fields fields) {
  const auto is = [&](const char* word) { return kind == word; };
  if (is("runtime")) return with<CUpti_ActivityAPI>(CUPTI_ACTIVITY_KIND_RUNTIME, fields);
  if (is("driver")) return with<CUpti_ActivityAPI>(CUPTI_ACTIVITY_KIND_DRIVER, fields);
  if (is("kernel")) {
    fields.merge(Fields{{"gridX", "1"},
                        {"gridY", "1"},
                        {"gridZ", "1"},
                        {"blockX", "1"},
                        {"blockY", "1"},
                        {"blockZ", "1"},
                        {"name", "kernel"}});
    return with<CUpti_ActivityKernel10>(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, fields);
  }
  if (is("copy")) return with<CUpti_ActivityMemcpy6>(CUPTI_ACTIVITY_KIND_MEMCPY, fields);
  if (is("peer-copy")) return with<CUpti_ActivityMemcpyPtoP4>(CUPTI_ACTIVITY_KIND_MEMCPY2, fields);
  if (is("memset")) return with<CUpti_ActivityMemset4>(CUPTI_ACTIVITY_KIND_MEMSET, fields);
  if (is("graph")) return with<CUpti_ActivityGraphTrace2>(CUPTI_ACTIVITY_KIND_GRAPH_TRACE, fields);
  if (is("wait")) {
    const std::string none = std::to_string(CUPTI_SYNCHRONIZATION_INVALID_VALUE);
    fields.merge(Fields{{"streamId", none}, {"cudaEventId", none}, {"cudaEventSyncId", none}});
    return with<CUpti_ActivitySynchronization2>(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, fields);
  }
  if (is("event")) return with<CUpti_ActivityCudaEvent2>(CUPTI_ACTIVITY_KIND_CUDA_EVENT, fields);
  if (is("marker")) return with<CUpti_ActivityMarker2>(CUPTI_ACTIVITY_KIND_MARKER, fields);
  if (is("context")) return with<CUpti_ActivityContext3>(CUPTI_ACTIVITY_KIND_CONTEXT, fields);
  if (is("stream")) return with<CUpti_ActivityStream>(CUPTI_ACTIVITY_KIND_STREAM, fields);
  throw std::invalid_argument(kind + ": no such record");
}

}  // namespace

std::vector<std::byte> record_from_text(const std::string& line) {
  std::istringstream words(line);
  std::string kind;
  words >> kind;
  return filled(kind, fields_of(words));
}

}  // namespace gpucast::trace::fake
