#include "client/runtime.h"

#include <pthread.h>

#include <cstdio>
#include <cstdlib>

#include "client/refusals.h"

namespace gpucast::remote::client {
namespace {

// For `gpucast remote run`, which made the file.
void tell_of_servers(const std::string& file) {
  if (file.empty()) return;
  const int opened = ::open(file.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  if (opened < 0) return;
  [[maybe_unused]] const ssize_t written = ::write(opened, "\n", 1);
  ::close(opened);
}

}  // namespace

ThreadState::~ThreadState() {
  if (!own_streams.empty()) runtime().destroy(own_streams);
}

ThreadState& this_thread() {
  static thread_local ThreadState state;
  return state;
}

Runtime& runtime() {
  static auto* const the_runtime = new Runtime;
  return *the_runtime;
}

void Runtime::connect() {
  begun_ = true;
  ::pthread_atfork(nullptr, nullptr, [] { runtime().forked_ = runtime().begun_.load(); });
  try {
    settings_ = read_client_settings();
    keep_out_local_driver();
    for (const Endpoint& server : settings_.servers)
      gpus_.push_back(std::make_unique<Gpu>(server, settings_));
    tell_of_servers(settings_.reached);
    std::atexit([] { runtime().finish(); });
  } catch (const std::exception& error) {
    std::fprintf(stderr, "gpucast remote: %s\n", error.what());
    connecting_ = cudaErrorDevicesUnavailable;
    gpus_.clear();
  }
}

int Runtime::device_count() {
  if (finished_) throw Failure{cudaErrorCudartUnloading};
  if (forked_) throw Failure{cudaErrorInitializationError};
  if (HostFunctions::in_one()) throw Failure{cudaErrorNotPermitted};
  std::call_once(connected_, [this] { connect(); });
  require(connecting_);
  return static_cast<int>(gpus_.size());
}

Gpu& Runtime::gpu(int device) {
  if (device < 0 || device >= device_count()) throw Failure{cudaErrorInvalidDevice};
  return *gpus_[static_cast<std::size_t>(device)];
}

void Runtime::finish() noexcept {
  if (forked_ || finished_.exchange(true)) return;
  counters.report(settings_.counters);
  for (const auto& gpu : gpus_)
    gpu->close();
}

OnStream Runtime::stream(cudaStream_t handle) {
  const int device = this_thread().device;
  if (handle == nullptr || handle == cudaStreamLegacy) {
    graphs.forbid_device(device, true);
    return {.device = device, .gpu = &gpu(device), .id = legacy_stream};
  }
  if (handle == cudaStreamPerThread) {
    Gpu& its = gpu(device);
    const Id id = this_thread().own_streams[device].on(its, cudaStreamDefault);
    return {.device = device, .gpu = &its, .id = id};
  }
  const DeviceObject stream = streams.find(handle);
  return {.device = stream.device, .gpu = &gpu(stream), .id = stream.id};
}

void Runtime::destroy(const std::map<int, OwnStream>& own_streams) noexcept {
  if (!usable()) return;
  for (const auto& [device, stream] : own_streams)
    stream.destroy(*gpus_[static_cast<std::size_t>(device)]);
}

void Runtime::forget(FatBinary& binary) noexcept {
  program.leave(binary);
  if (usable()) {
    for (const auto& gpu : gpus_)
      for (const Address variable : gpu->modules.unload(binary))
        memory.remove(variable);
  }
  program.remove(binary);
}

void Runtime::say_once(const std::string& what) {
  const std::lock_guard lock(said_mutex_);
  if (said_.insert(what).second) std::fprintf(stderr, "gpucast remote: %s\n", what.c_str());
}

cudaError_t Runtime::unsupported(const std::string& what) {
  say_once("not supported on remote GPUs: " + what);
  return cudaErrorNotSupported;
}

int remember_unsupported(const char* entry_point) noexcept {
  const cudaError_t error = refusal_of(entry_point);
  this_thread().last_error = error;
  try {
    runtime().unsupported(entry_point);
  } catch (const std::exception&) {
    return error;
  }
  return error;
}

}  // namespace gpucast::remote::client
