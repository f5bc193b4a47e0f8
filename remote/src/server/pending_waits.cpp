#include "server/pending_waits.h"

#include <utility>

namespace gpucast::remote::server {
namespace {

// NOT_READY while the GPU has not come to it.
CUresult state_of(PendingWaits::Entry& entry, Gpu& gpu, const DeferredD2h& outgoing) {
  if (entry.copies > outgoing.queued()) return CUDA_ERROR_NOT_READY;
  if (entry.late) {
    const CUresult status = status_of([&] { entry.events = std::exchange(entry.late, nullptr)(); });
    if (status != CUDA_SUCCESS) return status;
  }
  while (!entry.events.empty()) {
    const CUresult status = gpu.driver().cuEventQuery(entry.events.back()->get());
    if (status != CUDA_SUCCESS) return status;
    gpu.streams().give_back(std::move(entry.events.back()));
    entry.events.pop_back();
  }
  return CUDA_SUCCESS;
}

}  // namespace

// In order for those that wait for the same events; who is first does not matter otherwise.
bool PendingWaits::finish(Gpu& gpu, const DeferredD2h& outgoing,
                          const std::function<bool()>& room) {
  bool any = false;
  for (std::size_t k = 0; k < entries_.size() && room();) {
    const CUresult status = state_of(entries_[k], gpu, outgoing);
    if (status == CUDA_ERROR_NOT_READY) {
      ++k;
      continue;
    }
    const auto then = std::move(entries_[k].then);
    entries_.erase(entries_.begin() + static_cast<std::ptrdiff_t>(k));
    then(status);
    any = true;
  }
  return any;
}

}  // namespace gpucast::remote::server
