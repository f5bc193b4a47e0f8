// Entry points for devices (one per server) and for errors, which belong to no device.
#include <cuda_runtime_api.h>

#include <cstdio>

#include "client/entry.h"
#include "client/properties.h"
#include "client/refusals.h"
#include "client/works.h"

using namespace gpucast::remote;
using namespace gpucast::remote::client;

namespace {

void copy_between(void* to, int to_device, const void* from, int from_device, std::size_t bytes,
                  cudaStream_t stream, Waiting waiting) {
  existing(to_device);
  existing(from_device);
  copy(to, from, row(bytes), cudaMemcpyDeviceToDevice, stream, waiting);
}

}  // namespace

extern "C" {

cudaError_t cudaGetDeviceCount(int* count) {
  return entry([&] {
    give(count, 0);
    *count = runtime().device_count();
  });
}

cudaError_t cudaGetDevice(int* device) {
  return entry([&] {
    runtime().device_count();
    give(device, this_thread().device);
  });
}

cudaError_t cudaSetDevice(int device) { return ENTRY(this_thread().device = existing(device)); }

cudaError_t cudaInitDevice(int device, unsigned /*flags*/, unsigned /*which*/) {
  return ENTRY(existing(device));
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr which, int device) {
  return ENTRY(give(value, attribute(runtime().gpu(device), which)));
}

cudaError_t cudaDeviceGetPCIBusId(char* text, int size, int device) {
  return entry([&] {
    const std::string& pci = runtime().gpu(device).device().pci;
    require_valid(text != nullptr && size > static_cast<int>(pci.size()));
    std::snprintf(text, static_cast<std::size_t>(size), "%s", pci.c_str());
  });
}

// Takes the first device with the address: servers on several hosts may have the same one.
cudaError_t cudaDeviceGetByPCIBusId(int* device, const char* pci) {
  return entry([&] {
    require_valid(device != nullptr && pci != nullptr);
    for (int k = 0; k < runtime().device_count(); ++k)
      if (runtime().gpu(k).device().pci == pci) return give(device, k);
    throw Failure{cudaErrorInvalidDevice};
  });
}

cudaError_t cudaDeviceSynchronize() {
  return entry([&] {
    Gpu& gpu = runtime().current();
    runtime().graphs.forbid_device(this_thread().device, false);
    gpu.synchronize();
  });
}

cudaError_t cudaDeviceReset() {
  return entry([&] {
    const int device = this_thread().device;
    runtime().gpu(device).settle();
    runtime().attachments.forget(device);
    runtime().gpu(device).reset();
    runtime().memory.forget(device);
    runtime().streams.forget(device);
    runtime().events.forget(device);
    runtime().pools.forget(device);
  });
}

// How a thread waits for an answer does not matter to the device.
cudaError_t cudaSetDeviceFlags(unsigned flags) {
  return ENTRY(refuse_if((flags & cudaDeviceMapHost) != 0, "cudaDeviceMapHost"));
}
cudaError_t cudaGetDeviceFlags(unsigned* flags) {
  return ENTRY(give(flags, cudaDeviceScheduleAuto));
}

cudaError_t cudaDeviceSetLimit(cudaLimit limit, std::size_t value) {
  return ENTRY(runtime().current().call(LimitSet{.limit = limit, .value = value}));
}
cudaError_t cudaDeviceGetLimit(std::size_t* value, cudaLimit limit) {
  return ENTRY(give(value, runtime().current().call(LimitGet{.limit = limit}).value));
}

// These are preferences, which a device may ignore.
cudaError_t cudaDeviceSetCacheConfig(cudaFuncCache /*config*/) { return ENTRY(); }
cudaError_t cudaDeviceGetCacheConfig(cudaFuncCache* config) {
  return ENTRY(give(config, cudaFuncCachePreferNone));
}

cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  return entry([&] {
    runtime().current();
    if (least != nullptr) *least = 0;
    if (greatest != nullptr) *greatest = 0;
  });
}

// ---- peers: kernels never reach another server's memory, whichever way copies take ----

cudaError_t cudaMemcpyPeer(void* to, int to_device, const void* from, int from_device,
                           std::size_t bytes) {
  return ENTRY(copy_between(to, to_device, from, from_device, bytes, nullptr, Waiting::blocking));
}
cudaError_t cudaMemcpyPeerAsync(void* to, int to_device, const void* from, int from_device,
                                std::size_t bytes, cudaStream_t stream) {
  return ENTRY(
      copy_between(to, to_device, from, from_device, bytes, stream, Waiting::asynchronous));
}

cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer) {
  return entry([&] {
    existing(device);
    existing(peer);
    give(can, 0);
  });
}
cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned /*flags*/) {
  return entry([&] {
    existing(peer);
    return refusal_of("cudaDeviceEnablePeerAccess");
  });
}
cudaError_t cudaDeviceDisablePeerAccess(int peer) {
  return entry([&] {
    existing(peer);
    return refusal_of("cudaDeviceDisablePeerAccess");
  });
}
cudaError_t cudaDeviceGetP2PAttribute(int* value, cudaDeviceP2PAttr /*which*/, int device,
                                      int peer) {
  return entry([&] {
    existing(device);
    existing(peer);
    if (device == peer) throw Failure{cudaErrorInvalidDevice};
    give(value, 0);
  });
}

// ---- additions to the CUDA runtime, for `gpucast remote status` and for programs that want to
// know whether they use remote GPUs ----

// Gives the version of a device's server, as text of at most `bytes` bytes with the final zero, and
// the number of clients that it serves.
cudaError_t gpucast_remote_server(int device, char* version, std::size_t bytes, unsigned* clients) {
  return entry([&] {
    require_valid(version != nullptr && bytes > 0);
    const ServerFacts facts = runtime().gpu(device).call(AskServer{});
    const std::size_t length = std::min(facts.version.size(), bytes - 1);
    std::copy_n(facts.version.begin(), length, version);
    version[length] = '\0';
    give(clients, facts.clients);
  });
}

// Returns the transport to a device in the vocabulary of records ("tls", "plain", "shm"), valid
// until the program ends; nullptr if there is no such device.
const char* gpucast_remote_transport(int device) {
  try {
    return runtime().gpu(device).transport();
  } catch (const std::exception&) {
    return nullptr;
  }
}

// ---- errors, and calls that belong to no device ----

cudaError_t cudaGetLastError() { return std::exchange(this_thread().last_error, cudaSuccess); }
cudaError_t cudaPeekAtLastError() { return this_thread().last_error; }
const char* cudaGetErrorName(cudaError_t error) { return error_name(error); }
const char* cudaGetErrorString(cudaError_t error) { return error_text(error); }

cudaError_t cudaDriverGetVersion(int* version) {
  return ENTRY(give(version, runtime().gpu(0).device().driver_version));
}

cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w,
                                            cudaChannelFormatKind kind) {
  return {x, y, z, w, kind};
}

// Profilers look at this process, which has no GPU.
cudaError_t cudaProfilerStart() { return cudaSuccess; }
cudaError_t cudaProfilerStop() { return cudaSuccess; }

}  // extern "C"
