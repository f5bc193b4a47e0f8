#include "server/staging.h"

namespace gpucast::remote {
namespace {

constexpr std::size_t slots_at_once = 32;
constexpr std::size_t most_slots = 512;

}  // namespace

std::byte* Staging::take() {
  if (free_.empty()) {
    if (made_ >= most_slots) return nullptr;
    grow();
  }
  std::byte* slot = free_.back();
  free_.pop_back();
  return slot;
}

void Staging::grow() {
  void* memory = nullptr;
  const CUresult status = driver_->cuMemHostAlloc(&memory, slots_at_once * most_inline, 0);
  if (status != CUDA_SUCCESS) throw DriverError(status, "cuMemHostAlloc");
  for (std::size_t k = 0; k < slots_at_once; ++k)
    free_.push_back(static_cast<std::byte*>(memory) + k * most_inline);
  made_ += slots_at_once;
}

}  // namespace gpucast::remote
