// Holds a stream until everything is queued behind it.
#pragma once

#include <cuda_runtime.h>

#include "gpucast/devices/cuda/resources.h"

namespace gpucast::microbench::cuda {

// Times, by the clock of the device that was current when it was made, what is queued behind a
// closed gate: close, begin, end, open and seconds in this order, with what is timed queued between
// begin and end.
//
// The gate is closed from close() to open(); opened in any case, so that an error in between never
// leaves a stream waiting.
class GatedTimer {
 public:
  // The gate opens itself `timeout` seconds after the stream has come to it.
  explicit GatedTimer(double timeout = 10) : timeout_(timeout) {}
  ~GatedTimer();
  GatedTimer(const GatedTimer&) = delete;
  GatedTimer& operator=(const GatedTimer&) = delete;

  void close(cudaStream_t stream);
  void begin(cudaStream_t stream) const;
  void end(cudaStream_t stream) const;
  // Another stream of the device waits for the beginning.
  void hold_until_begin(cudaStream_t stream) const;
  void open() noexcept;
  void wait_for_end() const;
  // Waits for the end. DeviceError where the gate opened itself, because the time was up: what was
  // measured is then worth nothing.
  double seconds() const;

 private:
  double timeout_;
  // Pinned and mapped: open, timed out. Made when first closed: remote GPUs have no such memory.
  int* flags_ = nullptr;
  devices::cuda::Event begin_{cudaEventDefault};
  devices::cuda::Event end_{cudaEventDefault};
};

}  // namespace gpucast::microbench::cuda
