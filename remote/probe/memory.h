// Memory with contents that are known.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include "checks.h"

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

inline std::uint8_t pattern(std::size_t k, unsigned seed) {
  return static_cast<std::uint8_t>((k * 2654435761U + seed) >> 13);
}

inline void fill(std::uint8_t* data, std::size_t bytes, unsigned seed) {
  for (std::size_t k = 0; k < bytes; ++k)
    data[k] = pattern(k, seed);
}

inline bool holds(const std::uint8_t* data, std::size_t bytes, unsigned seed) {
  for (std::size_t k = 0; k < bytes; ++k) {
    if (data[k] != pattern(k, seed)) return false;
  }
  return true;
}

}  // namespace gpucast::probe
