#include "client/attachments.h"

#include <vector>

#include "client/runtime.h"

namespace gpucast::remote::client {
namespace {

// Servers of one host and user.
bool in_one_group(int first, int second) {
  const std::string& group = runtime().gpu(first).device().group;
  return !group.empty() && group == runtime().gpu(second).device().group;
}

// Some failures say something about the memory, and nothing about the two devices.
bool concerns_devices(const Share& /*share*/, Status status) {
  return status != 0 && status != Status{cudaErrorInvalidValue};
}
bool concerns_devices(const Attach& /*attach*/, Status status) {
  return status != 0 && status != Status{cudaErrorMemoryAllocation} &&
         status != Status{cudaErrorAlreadyMapped};
}

}  // namespace

std::optional<Address> Attachments::find(const AddressMap::DeviceMemory& memory, int device) {
  if (!in_one_group(memory.device, device)) return std::nullopt;
  std::optional<Use> use = known(memory, device);
  if (!use) {
    const std::lock_guard requesting(requesting_);
    use = known(memory, device);
    if (!use) use = request(memory, device);
  }
  return use->address == 0 ? std::nullopt : std::optional(use->address);
}

std::optional<Attachments::Use> Attachments::known(const AddressMap::DeviceMemory& memory,
                                                   int device) const {
  const std::shared_lock lock(mutex_);
  if (refused_.contains({memory.device, device})) return Use{};
  const auto found = allocations_.find(memory.begin);
  if (found == allocations_.end()) return std::nullopt;
  if (found->second.refused) return Use{};
  const auto use = found->second.uses.find(device);
  return use == found->second.uses.end() ? std::nullopt : std::optional(use->second);
}

Attachments::Use Attachments::request(const AddressMap::DeviceMemory& memory, int device) {
  std::optional<Shared> shared;
  {
    const std::shared_lock lock(mutex_);
    const auto found = allocations_.find(memory.begin);
    if (found != allocations_.end()) shared = found->second.shared;
  }
  if (!shared) {
    Shared got;
    const Share share{.address = memory.begin};
    const Status status = runtime().gpu(memory.device).call(share, got);
    // Both mean the same memory by it.
    const bool whole = status == 0 && got.bytes == memory.bytes;
    const std::unique_lock lock(mutex_);
    Allocation& allocation = allocations_[memory.begin];
    allocation = {.device = memory.device, .refused = !whole};
    if (concerns_devices(share, status)) refused_.insert({memory.device, device});
    if (!whole) return {};
    allocation.shared = shared = got;
  }
  Gpu& user = runtime().gpu(device);
  Use use{.id = user.new_id()};
  const Attach attach{.id = use.id, .memory = *shared};
  Attached attached;
  const Status status = user.call(attach, attached);
  if (status == 0) use.address = attached.address;
  const std::unique_lock lock(mutex_);
  allocations_[memory.begin].uses[device] = use;
  if (concerns_devices(attach, status)) refused_.insert({memory.device, device});
  return use;
}

// A server that is lost uses nothing any more.
void Attachments::detach(const Allocation& allocation) {
  for (const auto& [device, use] : allocation.uses) {
    if (use.address != 0) runtime().gpu(device).call(Detach{.id = use.id});
  }
}

void Attachments::detach(Address begin) {
  std::unique_lock lock(mutex_);
  const auto removed = allocations_.extract(begin);
  lock.unlock();
  if (removed) detach(removed.mapped());
}

void Attachments::forget(int device) {
  std::vector<Allocation> gone;
  {
    const std::unique_lock lock(mutex_);
    for (auto each = allocations_.begin(); each != allocations_.end();) {
      if (each->second.device == device) {
        gone.push_back(std::move(each->second));
        each = allocations_.erase(each);
      } else {
        each->second.uses.erase(device);
        ++each;
      }
    }
  }
  for (const Allocation& each : gone)
    detach(each);
}

}  // namespace gpucast::remote::client
