#include "client/runtime.h"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>

namespace gpucast::remote {

ThreadState& this_thread() {
  static thread_local ThreadState state;
  return state;
}

Runtime& runtime() {
  static auto* const the_runtime = new Runtime;
  return *the_runtime;
}

void Runtime::connect() {
  try {
    settings_ = read_client_settings();
    for (const Endpoint& each : settings_.servers)
      gpus_.push_back(std::make_unique<Gpu>(each, settings_));
    std::atexit([] { runtime().finish(); });
  } catch (const std::exception& error) {
    std::fprintf(stderr, "gpucast remote: %s\n", error.what());
    connecting_ = cudaErrorDevicesUnavailable;
    gpus_.clear();
  }
}

int Runtime::device_count() {
  if (finished_) throw Failure{cudaErrorCudartUnloading};
  std::call_once(connected_, [this] { connect(); });
  require(connecting_);
  return static_cast<int>(gpus_.size());
}

Gpu& Runtime::gpu(int device) {
  if (device < 0 || device >= device_count()) throw Failure{cudaErrorInvalidDevice};
  return *gpus_[static_cast<std::size_t>(device)];
}

void Runtime::finish() noexcept {
  if (finished_.exchange(true)) return;
  counters.report(settings_.counters);
  gpus_.clear();
}

OnStream Runtime::stream(cudaStream_t handle) {
  if (handle == nullptr || handle == cudaStreamLegacy) {
    const int device = this_thread().device;
    return {.device = device, .gpu = &gpu(device), .id = legacy_stream};
  }
  if (handle == cudaStreamPerThread) {
    const int device = this_thread().device;
    Gpu& on = gpu(device);
    const auto [entry, added] = this_thread().own_streams.try_emplace(device, 0);
    if (added) {
      entry->second = on.new_id();
      require(on.create_stream(entry->second, cudaStreamDefault, 0));
    }
    return {.device = device, .gpu = &on, .id = entry->second};
  }
  const StreamOfProgram found = find(handle);
  return {.device = found.device, .gpu = &gpu(found.device), .id = found.id};
}

cudaStream_t Runtime::add(StreamOfProgram stream) {
  auto owned = std::make_unique<StreamOfProgram>(stream);
  const auto handle = reinterpret_cast<cudaStream_t>(owned.get());
  const std::unique_lock lock(handles_);
  streams_[handle] = std::move(owned);
  return handle;
}

StreamOfProgram Runtime::find(cudaStream_t handle) const {
  const std::shared_lock lock(handles_);
  const auto found = streams_.find(handle);
  if (found == streams_.end()) throw Failure{cudaErrorInvalidResourceHandle};
  return *found->second;
}

void Runtime::remove(cudaStream_t handle) {
  const std::unique_lock lock(handles_);
  streams_.erase(handle);
}

cudaEvent_t Runtime::add(EventOfProgram event) {
  auto owned = std::make_unique<EventOfProgram>(event);
  const auto handle = reinterpret_cast<cudaEvent_t>(owned.get());
  const std::unique_lock lock(handles_);
  events_[handle] = std::move(owned);
  return handle;
}

EventOfProgram Runtime::find(cudaEvent_t handle) const {
  const std::shared_lock lock(handles_);
  const auto found = events_.find(handle);
  if (found == events_.end()) throw Failure{cudaErrorInvalidResourceHandle};
  return *found->second;
}

void Runtime::remove(cudaEvent_t handle) {
  const std::unique_lock lock(handles_);
  events_.erase(handle);
}

void Runtime::forget_handles(int device) {
  const std::unique_lock lock(handles_);
  std::erase_if(streams_, [&](const auto& each) { return each.second->device == device; });
  std::erase_if(events_, [&](const auto& each) { return each.second->device == device; });
  this_thread().own_streams.erase(device);
}

void Runtime::forget(FatBinary& binary) noexcept {
  if (!finished_) {
    for (const auto& gpu : gpus_) {
      for (const Address variable : gpu->modules.unload(binary))
        memory.remove(variable);
    }
  }
  program.remove(binary);
}

cudaError_t Runtime::unsupported(const std::string& what) {
  const std::lock_guard lock(said_mutex_);
  if (std::ranges::find(said_, what) == said_.end()) {
    said_.push_back(what);
    std::fprintf(stderr, "gpucast remote: not supported on remote GPUs: %s\n", what.c_str());
  }
  return cudaErrorNotSupported;
}

int remember_unsupported(const char* entry_point) noexcept {
  this_thread().last_error = cudaErrorNotSupported;
  try {
    return runtime().unsupported(entry_point);
  } catch (const std::exception&) {
    return cudaErrorNotSupported;
  }
}

}  // namespace gpucast::remote
