// A libcupti.so.13 without a GPU. fake_cupti_emit() adds a record (record_text.h) to the buffer
// that the client has provided; a full buffer, or a flush, is returned. Environment variables:
//
//   FAKE_CUPTI_VERSION    result of cuptiGetVersion (130001)
//   FAKE_CUPTI_SUBSCRIBE  status of cuptiSubscribe (0)
//   FAKE_CUPTI_REFUSES    end of a path: a library there returns CUPTI_ERROR_NOT_INITIALIZED
//   FAKE_CUPTI_DROPPED    number of dropped records, reported once (0)
#include <cupti.h>

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <set>
#include <string_view>
#include <utility>

#include "record_text.h"

namespace gpucast::trace::fake {
namespace {

std::uint32_t variable(const char* name, std::uint32_t otherwise) {
  const char* const value = std::getenv(name);
  return value == nullptr ? otherwise
                          : static_cast<std::uint32_t>(std::strtoul(value, nullptr, 10));
}

bool refuses() {
  const char* const end = std::getenv("FAKE_CUPTI_REFUSES");
  Dl_info info;
  return end != nullptr && dladdr(reinterpret_cast<const void*>(&variable), &info) != 0 &&
         std::string_view(info.dli_fname).ends_with(end);
}

// By number, from 1.
constexpr std::array runtime_names{"cudaLaunchKernel_v7000",      "cudaMemcpy_v3020",
                                   "cudaMemcpyAsync_ptsz_v7000",  "cudaGetLastError_v3020",
                                   "cudaDeviceSynchronize_v3020", "cudaEventRecord_v3020",
                                   "cudaEventQuery_v3020"};
constexpr std::array driver_names{"cuLaunchKernel", "cuMemcpyHtoDAsync_v2", "cuKernelGetName"};

struct State {
  std::mutex mutex;
  CUpti_BuffersCallbackRequestFunc wanted = nullptr;
  CUpti_BuffersCallbackCompleteFunc done = nullptr;
  std::set<int> kinds;
  std::set<std::pair<int, std::uint32_t>> calls_left_out;
  std::set<std::uint32_t> runtime_calls;  // enabled one by one
  std::set<std::uint32_t> driver_calls;
  std::uint8_t* buffer = nullptr;
  std::size_t size = 0;
  std::size_t used = 0;
  std::size_t dropped = variable("FAKE_CUPTI_DROPPED", 0);
};

State& state() {
  static State& it = *new State;  // used until the very end of the process
  return it;
}

// Takes the buffer that was being filled.
std::pair<std::uint8_t*, std::size_t> take_buffer() {
  State& it = state();
  it.size = 0;
  return {std::exchange(it.buffer, nullptr), std::exchange(it.used, 0)};
}

void hand_back(std::pair<std::uint8_t*, std::size_t> buffer) {
  if (buffer.first != nullptr) state().done(nullptr, 0, buffer.first, buffer.second, buffer.second);
}

// In a buffer each record follows its size.
void append(const std::vector<std::byte>& record) {
  const std::size_t needed = sizeof(std::size_t) + record.size();
  State& it = state();
  std::unique_lock lock(it.mutex);
  if (it.used + needed > it.size) {
    const auto full = take_buffer();
    lock.unlock();
    hand_back(full);
    std::uint8_t* buffer = nullptr;
    std::size_t size = 0;
    std::size_t records = 0;
    it.wanted(&buffer, &size, &records);
    lock.lock();
    it.buffer = buffer;
    it.size = size;
  }
  const std::size_t size = record.size();
  std::memcpy(it.buffer + it.used, &size, sizeof(size));
  std::memcpy(it.buffer + it.used + sizeof(size), record.data(), size);
  it.used += needed;
}

bool wanted(const std::vector<std::byte>& record) {
  CUpti_ActivityAPI head{};
  std::memcpy(&head, record.data(), std::min(record.size(), sizeof(head)));
  State& it = state();
  const std::scoped_lock lock(it.mutex);
  const std::uint32_t cbid = head.cbid;  // packed
  if (head.kind == CUPTI_ACTIVITY_KIND_DRIVER && it.driver_calls.contains(cbid)) return true;
  const bool runtime = head.kind == CUPTI_ACTIVITY_KIND_RUNTIME;
  if (runtime && it.runtime_calls.contains(cbid)) return true;
  if (!it.kinds.contains(static_cast<int>(head.kind))) return false;
  return !it.calls_left_out.contains({static_cast<int>(head.kind), cbid});
}

}  // namespace
}  // namespace gpucast::trace::fake

using gpucast::trace::fake::append;
using gpucast::trace::fake::hand_back;
using gpucast::trace::fake::state;
using gpucast::trace::fake::take_buffer;

extern "C" {

void fake_cupti_emit(const char* line) {
  const auto record = gpucast::trace::fake::record_from_text(line);
  if (gpucast::trace::fake::wanted(record)) append(record);
}

CUptiResult cuptiGetVersion(uint32_t* version) {
  *version = gpucast::trace::fake::variable("FAKE_CUPTI_VERSION", 130001);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiSubscribe(CUpti_SubscriberHandle* /*subscriber*/, CUpti_CallbackFunc /*callback*/,
                           void* /*userdata*/) {
  if (gpucast::trace::fake::refuses()) return CUPTI_ERROR_NOT_INITIALIZED;
  return static_cast<CUptiResult>(gpucast::trace::fake::variable("FAKE_CUPTI_SUBSCRIBE", 0));
}

CUptiResult cuptiGetTimestamp(uint64_t* timestamp) {
  *timestamp = 0;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiGetCallbackName(CUpti_CallbackDomain domain, uint32_t cbid, const char** name) {
  const auto look_up = [&](const auto& names) {
    if (cbid == 0 || cbid > names.size()) return CUPTI_ERROR_INVALID_PARAMETER;
    *name = names[cbid - 1];
    return CUPTI_SUCCESS;
  };
  return domain == CUPTI_CB_DOMAIN_RUNTIME_API ? look_up(gpucast::trace::fake::runtime_names)
                                               : look_up(gpucast::trace::fake::driver_names);
}

CUptiResult cuptiGetResultString(CUptiResult /*result*/, const char** str) {
  *str = "FAKE_CUPTI_ERROR";
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivitySetAttribute(CUpti_ActivityAttribute /*attribute*/, size_t* /*size*/,
                                      void* /*value*/) {
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc funcBufferRequested,
                                           CUpti_BuffersCallbackCompleteFunc funcBufferCompleted) {
  state().wanted = funcBufferRequested;
  state().done = funcBufferCompleted;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityEnable(CUpti_ActivityKind kind) {
  const std::scoped_lock lock(state().mutex);
  state().kinds.insert(static_cast<int>(kind));
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityDisable(CUpti_ActivityKind kind) {
  const std::scoped_lock lock(state().mutex);
  if (kind == CUPTI_ACTIVITY_KIND_DRIVER) state().driver_calls.clear();
  if (kind == CUPTI_ACTIVITY_KIND_RUNTIME) state().runtime_calls.clear();
  state().kinds.erase(static_cast<int>(kind));
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityFlushAll(uint32_t /*flag*/) {
  std::unique_lock lock(state().mutex);
  const auto buffer = take_buffer();
  lock.unlock();
  hand_back(buffer);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityGetNextRecord(uint8_t* buffer, size_t valid, CUpti_Activity** record) {
  std::size_t next = 0;  // offset of the next record's size
  if (*record != nullptr) {
    auto* const at = reinterpret_cast<std::uint8_t*>(*record);
    std::size_t size = 0;
    std::memcpy(&size, at - sizeof(size), sizeof(size));
    next = static_cast<std::size_t>(at - buffer) + size;
  }
  if (next + sizeof(std::size_t) >= valid) return CUPTI_ERROR_MAX_LIMIT_REACHED;
  *record = reinterpret_cast<CUpti_Activity*>(buffer + next + sizeof(std::size_t));
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityGetNumDroppedRecords(CUcontext /*context*/, uint32_t /*stream*/,
                                              size_t* dropped) {
  const std::scoped_lock lock(state().mutex);
  *dropped = std::exchange(state().dropped, 0);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityEnableRuntimeApi(CUpti_CallbackId cbid, uint8_t enable) {
  const std::scoped_lock lock(state().mutex);
  const std::pair<int, std::uint32_t> call{CUPTI_ACTIVITY_KIND_RUNTIME, cbid};
  if (enable == 0) {
    state().calls_left_out.insert(call);
    state().runtime_calls.erase(cbid);
  } else {
    state().calls_left_out.erase(call);
    state().runtime_calls.insert(cbid);
  }
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityEnableDriverApi(CUpti_CallbackId cbid, uint8_t enable) {
  const std::scoped_lock lock(state().mutex);
  if (enable == 0)
    state().driver_calls.erase(cbid);
  else
    state().driver_calls.insert(cbid);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiNvtxInitialize2(void* table) {
  return table != nullptr ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_PARAMETER;
}

CUptiResult cuptiActivityEnableAllSyncRecords(uint8_t /*enable*/) { return CUPTI_SUCCESS; }

}  // extern "C"
