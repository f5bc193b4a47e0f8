// Owners of what the CUDA runtime hands out. Destructors ignore errors: a device that failed cannot
// free, and has been reported.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <utility>

#include "gpucast/devices/cuda/check.h"

namespace gpucast::devices::cuda {

// `size` zeroed elements on the current device.
template <class T>
class DeviceArray {
 public:
  DeviceArray() = default;
  explicit DeviceArray(std::size_t size) : size_(size) {
    if (size == 0) return;
    check(cudaMalloc(&data_, bytes()), "cudaMalloc");
    check(cudaMemset(data_, 0, bytes()), "cudaMemset");
  }
  ~DeviceArray() { cudaFree(data_); }
  DeviceArray(DeviceArray&& other) noexcept
      : size_(std::exchange(other.size_, 0)), data_(std::exchange(other.data_, nullptr)) {}
  DeviceArray& operator=(DeviceArray&& other) noexcept {
    std::swap(size_, other.size_);
    std::swap(data_, other.data_);
    return *this;
  }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;

  T* data() const { return data_; }
  std::size_t size() const { return size_; }
  std::size_t bytes() const { return size_ * sizeof(T); }

 private:
  std::size_t size_ = 0;
  T* data_ = nullptr;
};

// A stream of the current device that does not wait for the default one; or the default stream
// itself, which blocking copies use.
class Stream {
 public:
  Stream() = default;
  static Stream independent() {
    Stream stream;
    check(cudaStreamCreateWithFlags(&stream.stream_, cudaStreamNonBlocking), "cudaStreamCreate");
    return stream;
  }
  ~Stream() {
    if (stream_ != nullptr) cudaStreamDestroy(stream_);
  }
  Stream(Stream&& other) noexcept : stream_(std::exchange(other.stream_, nullptr)) {}
  Stream& operator=(Stream&& other) noexcept {
    std::swap(stream_, other.stream_);
    return *this;
  }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  cudaStream_t get() const { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

class Event {
 public:
  explicit Event(unsigned flags) {
    check(cudaEventCreateWithFlags(&event_, flags), "cudaEventCreate");
  }
  ~Event() {
    if (event_ != nullptr) cudaEventDestroy(event_);
  }
  Event(Event&& other) noexcept : event_(std::exchange(other.event_, nullptr)) {}
  Event& operator=(Event&& other) noexcept {
    std::swap(event_, other.event_);
    return *this;
  }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  cudaEvent_t get() const { return event_; }

 private:
  cudaEvent_t event_ = nullptr;
};

// Seconds by the device's clock; both events have been passed.
inline double seconds_between(const Event& begin, const Event& end) {
  constexpr double milli = 1e-3;
  float milliseconds = 0;
  check(cudaEventElapsedTime(&milliseconds, begin.get(), end.get()), "cudaEventElapsedTime");
  return milli * static_cast<double>(milliseconds);
}

}  // namespace gpucast::devices::cuda
