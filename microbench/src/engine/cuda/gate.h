// Holds a stream until everything is queued behind it.
#pragma once

#include <cuda_runtime.h>

namespace gpucast::microbench::cuda {

// Closed from close() to open(); opened in any case, so that an error in between never leaves a
// stream waiting.
class Gate {
 public:
  // Opens itself `timeout` seconds after the stream has come to it.
  explicit Gate(double timeout = 10);
  ~Gate();
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

  void close(cudaStream_t stream);
  void open() noexcept;
  // After the stream was waited for: DeviceError where the gate opened itself, because the time was
  // up: what was measured is then worth nothing.
  void require_opened_in_time() const;

 private:
  double timeout_;
  // Pinned and mapped: open, timed out. Made when first closed: remote GPUs have no such memory.
  int* flags_ = nullptr;
};

}  // namespace gpucast::microbench::cuda
