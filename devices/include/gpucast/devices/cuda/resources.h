// Owners of the CUDA runtime's resources. Destructors ignore errors: a failed device cannot free
// anything, and has been reported.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <memory>

#include "gpucast/support/errors.h"

namespace gpucast::devices::cuda {

// Throws DeviceError if the call has failed.
inline void check(cudaError_t status, const char* call) {
  if (status != cudaSuccess) {
    cudaGetLastError();  // otherwise the next launch would report it
    throw support::DeviceError(std::string(call) + ": " + cudaGetErrorString(status));
  }
}

// Makes std::unique_ptr release its object by a call of the runtime.
template <auto destroy>
struct Destroy {
  template <class T>
  void operator()(T* owned) const noexcept {
    destroy(owned);
  }
};

// `size` zeroed elements on the current device.
template <class T>
class DeviceArray {
 public:
  DeviceArray() = default;
  explicit DeviceArray(std::size_t size) : size_(size) {
    if (size == 0) return;
    T* data = nullptr;
    check(cudaMalloc(&data, bytes()), "cudaMalloc");
    data_.reset(data);
    check(cudaMemset(data, 0, bytes()), "cudaMemset");
    // Otherwise streams that do not wait for the default one could write before the zeros do: on a
    // GPU that several programs share, these may be that late.
    check(cudaStreamSynchronize(nullptr), "cudaStreamSynchronize");
  }

  T* data() const { return data_.get(); }
  std::size_t size() const { return size_; }
  std::size_t bytes() const { return size_ * sizeof(T); }

 private:
  std::size_t size_ = 0;
  std::unique_ptr<T, Destroy<cudaFree>> data_;
};

// A stream of the current device: one that does not wait for the default one, one that does, or the
// default stream itself, which blocking copies use.
class Stream {
 public:
  static Stream independent() { return made(cudaStreamNonBlocking); }
  static Stream blocking() { return made(cudaStreamDefault); }

  cudaStream_t get() const { return stream_.get(); }

 private:
  static Stream made(unsigned flags) {
    cudaStream_t made = nullptr;
    check(cudaStreamCreateWithFlags(&made, flags), "cudaStreamCreate");
    Stream stream;
    stream.stream_.reset(made);
    return stream;
  }

  std::unique_ptr<CUstream_st, Destroy<cudaStreamDestroy>> stream_;
};

class Event {
 public:
  explicit Event(unsigned flags) {
    cudaEvent_t made = nullptr;
    check(cudaEventCreateWithFlags(&made, flags), "cudaEventCreate");
    event_.reset(made);
  }

  cudaEvent_t get() const { return event_.get(); }
  // The event completes when all present work of the stream is finished.
  void record(cudaStream_t stream) const {
    check(cudaEventRecord(get(), stream), "cudaEventRecord");
  }
  // The stream's later work waits for the event.
  void hold(cudaStream_t stream) const {
    check(cudaStreamWaitEvent(stream, get(), 0), "cudaStreamWaitEvent");
  }
  void wait() const { check(cudaEventSynchronize(get()), "cudaEventSynchronize"); }

 private:
  std::unique_ptr<CUevent_st, Destroy<cudaEventDestroy>> event_;
};

// Seconds by the device's clock between two completed events.
inline double seconds_between(const Event& begin, const Event& end) {
  constexpr double milli = 1e-3;
  float milliseconds = 0;
  check(cudaEventElapsedTime(&milliseconds, begin.get(), end.get()), "cudaEventElapsedTime");
  return milli * static_cast<double>(milliseconds);
}

}  // namespace gpucast::devices::cuda
