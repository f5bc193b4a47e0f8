#include "server/staging.h"

namespace gpucast::remote::server {

std::byte* SlotPool::take() {
  if (free_.empty()) {
    if (made_ >= size_.most) return nullptr;
    grow();
  }
  std::byte* slot = free_.back();
  free_.pop_back();
  return slot;
}

void SlotPool::grow() {
  void* memory = nullptr;
  const CUresult status = driver_->cuMemHostAlloc(&memory, size_.at_once * size_.slot, 0);
  if (status != CUDA_SUCCESS) throw DriverError(status, "cuMemHostAlloc");
  for (std::size_t k = 0; k < size_.at_once; ++k)
    free_.push_back(static_cast<std::byte*>(memory) + k * size_.slot);
  made_ += size_.at_once;
}

}  // namespace gpucast::remote::server
