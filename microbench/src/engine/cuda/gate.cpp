#include "engine/cuda/gate.h"

#include <atomic>

#include "engine/cuda/kernels.h"
#include "gpucast/devices/cuda/resources.h"
#include "gpucast/support/errors.h"
#include "gpucast/support/human.h"

namespace gpucast::microbench::cuda {

using devices::cuda::check;

GatedTimer::~GatedTimer() {
  if (flags_ == nullptr) return;
  open();
  cudaFreeHost(flags_);
}

void GatedTimer::close(cudaStream_t stream) {
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

void GatedTimer::open() noexcept { std::atomic_ref<int>(flags_[0]).store(1); }

void GatedTimer::begin(cudaStream_t stream) const {
  check(cudaEventRecord(begin_.get(), stream), "cudaEventRecord");
}

void GatedTimer::end(cudaStream_t stream) const {
  check(cudaEventRecord(end_.get(), stream), "cudaEventRecord");
}

void GatedTimer::hold_until_begin(cudaStream_t stream) const {
  check(cudaStreamWaitEvent(stream, begin_.get(), 0), "cudaStreamWaitEvent");
}

void GatedTimer::wait_for_end() const {
  check(cudaEventSynchronize(end_.get()), "cudaEventSynchronize");
}

double GatedTimer::seconds() const {
  wait_for_end();
  if (std::atomic_ref<int>(flags_[1]).load() != 0) {
    throw support::DeviceError("the gate in front of queued work did not open within " +
                               support::figure("%g s", timeout_));
  }
  return devices::cuda::seconds_between(begin_, end_);
}

}  // namespace gpucast::microbench::cuda
