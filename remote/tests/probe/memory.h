// Checked calls, and memory with known contents.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "checks.h"
#include "gpucast/devices/cuda/resources.h"

namespace gpucast::probe {

class Pinned {
 public:
  explicit Pinned(std::size_t bytes) {
    require(cudaHostAlloc(&data_, bytes, cudaHostAllocPortable), "cudaHostAlloc");
  }
  ~Pinned() { cudaFreeHost(data_); }
  Pinned(const Pinned&) = delete;
  Pinned& operator=(const Pinned&) = delete;
  std::uint8_t* data() const { return static_cast<std::uint8_t*>(data_); }

 private:
  void* data_ = nullptr;
};

inline int device_count() {
  int count = 0;
  require(cudaGetDeviceCount(&count), "cudaGetDeviceCount");
  require(count > 0, "there is a device");
  return count;
}

// ---- checked calls ----

inline void use_device(int device) { require(cudaSetDevice(device), "cudaSetDevice"); }

inline void copy(void* to, const void* from, std::size_t bytes) {
  require(cudaMemcpy(to, from, bytes, cudaMemcpyDefault), "cudaMemcpy");
}
inline void copy_async(void* to, const void* from, std::size_t bytes,
                       const devices::cuda::Stream& stream,
                       cudaMemcpyKind kind = cudaMemcpyDefault) {
  require(cudaMemcpyAsync(to, from, bytes, kind, stream.get()), "cudaMemcpyAsync");
}
inline void copy_peer(void* to, int to_device, const void* from, int from_device,
                      std::size_t bytes) {
  require(cudaMemcpyPeer(to, to_device, from, from_device, bytes), "cudaMemcpyPeer");
}
inline void copy_peer_async(void* to, int to_device, const void* from, int from_device,
                            std::size_t bytes, const devices::cuda::Stream& stream) {
  require(cudaMemcpyPeerAsync(to, to_device, from, from_device, bytes, stream.get()),
          "cudaMemcpyPeerAsync");
}

inline void synchronize(const devices::cuda::Stream& stream) {
  require(cudaStreamSynchronize(stream.get()), "cudaStreamSynchronize");
}
inline void synchronize_device() { require(cudaDeviceSynchronize(), "cudaDeviceSynchronize"); }

// ---- contents ----

inline std::uint8_t pattern(std::size_t k, unsigned seed) {
  return static_cast<std::uint8_t>((k * 2654435761U + seed) >> 13);
}

inline void fill(std::uint8_t* data, std::size_t bytes, unsigned seed) {
  for (std::size_t k = 0; k < bytes; ++k)
    data[k] = pattern(k, seed);
}

inline bool holds(const std::uint8_t* data, std::size_t bytes, unsigned seed) {
  for (std::size_t k = 0; k < bytes; ++k)
    if (data[k] != pattern(k, seed)) return false;
  return true;
}

// Memory on the current device, cleared for every stream.
template <class T>
devices::cuda::DeviceArray<T> cleared(std::size_t count) {
  devices::cuda::DeviceArray<T> result(count);
  synchronize(devices::cuda::Stream());
  return result;
}

// Requires that device memory holds what fill() writes.
inline void require_holds(const devices::cuda::DeviceArray<std::uint8_t>& on_device, unsigned seed,
                          const std::string& what) {
  std::vector<std::uint8_t> data(on_device.size());
  copy(data.data(), on_device.data(), data.size());
  require(holds(data.data(), data.size(), seed), what);
}

}  // namespace gpucast::probe
