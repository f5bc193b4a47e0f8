// Holds a stream until everything is queued behind it.
#pragma once

#include <cuda_runtime.h>

#include <atomic>

#include "engine/cuda/kernels.h"
#include "gpucast/support/human.h"

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
  ~GatedTimer() {
    if (flags_ == nullptr) return;
    open();
    cudaFreeHost(flags_);
  }
  GatedTimer(const GatedTimer&) = delete;
  GatedTimer& operator=(const GatedTimer&) = delete;

  void close(cudaStream_t stream) {
    if (flags_ == nullptr) {
      void* memory = nullptr;
      check(cudaHostAlloc(&memory, 2 * sizeof(int), cudaHostAllocMapped | cudaHostAllocPortable),
            "cudaHostAlloc");
      flags_ = static_cast<int*>(memory);
    }
    std::atomic_ref<int>(flags_[0]).store(0);
    std::atomic_ref<int>(flags_[1]).store(0);
    queue_gate(flags_, flags_ + 1, timeout_, stream);
  }
  void begin(cudaStream_t stream) const {
    check(cudaEventRecord(begin_.get(), stream), "cudaEventRecord");
  }
  void end(cudaStream_t stream) const {
    check(cudaEventRecord(end_.get(), stream), "cudaEventRecord");
  }
  // Another stream of the device waits for the beginning.
  void hold_until_begin(cudaStream_t stream) const {
    check(cudaStreamWaitEvent(stream, begin_.get(), 0), "cudaStreamWaitEvent");
  }
  void open() noexcept { std::atomic_ref<int>(flags_[0]).store(1); }
  void wait_for_end() const { check(cudaEventSynchronize(end_.get()), "cudaEventSynchronize"); }
  // Waits for the end. DeviceError where the gate opened itself, because the time was up: what was
  // measured is then worth nothing.
  double seconds() const {
    wait_for_end();
    if (std::atomic_ref<int>(flags_[1]).load() != 0) {
      throw support::DeviceError("the gate in front of queued work did not open within " +
                                 support::figure("%g s", timeout_));
    }
    return devices::cuda::seconds_between(begin_, end_);
  }

 private:
  double timeout_;
  // Pinned and mapped: open, timed out. Made when first closed: remote GPUs have no such memory.
  int* flags_ = nullptr;
  Event begin_{cudaEventDefault};
  Event end_{cudaEventDefault};
};

}  // namespace gpucast::microbench::cuda
