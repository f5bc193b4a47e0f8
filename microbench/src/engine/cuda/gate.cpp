#include "engine/cuda/gate.h"

#include <atomic>

#include "engine/cuda/kernels.h"
#include "gpucast/devices/cuda/check.h"
#include "gpucast/devices/error.h"
#include "gpucast/support/human.h"

namespace gpucast::microbench::cuda {

Gate::Gate(double timeout) : timeout_(timeout) {}

Gate::~Gate() {
  if (flags_ == nullptr) return;
  open();
  cudaFreeHost(flags_);
}

void Gate::close(cudaStream_t stream) {
  if (flags_ == nullptr) {
    void* memory = nullptr;
    devices::cuda::check(
        cudaHostAlloc(&memory, 2 * sizeof(int), cudaHostAllocMapped | cudaHostAllocPortable),
        "cudaHostAlloc");
    flags_ = static_cast<int*>(memory);
  }
  std::atomic_ref<int>(flags_[0]).store(0);
  std::atomic_ref<int>(flags_[1]).store(0);
  queue_gate(flags_, flags_ + 1, timeout_, stream);
}

void Gate::open() noexcept { std::atomic_ref<int>(flags_[0]).store(1); }

void Gate::require_opened_in_time() const {
  if (std::atomic_ref<int>(flags_[1]).load() != 0) {
    throw devices::DeviceError("the gate in front of queued work did not open within " +
                               support::figure("%g s", timeout_));
  }
}

}  // namespace gpucast::microbench::cuda
