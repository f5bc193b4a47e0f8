#include "client/attachments.h"

#include "client/runtime.h"

namespace gpucast::remote::client {
namespace {

// Whether both servers belong to the same host and user.
bool in_one_group(int first, int second) {
  const std::string& group = runtime().gpu(first).device().group;
  return !group.empty() && group == runtime().gpu(second).device().group;
}

}  // namespace

std::optional<Address> Attachments::find(const AddressMap::DeviceMemory& memory, int device) {
  if (!in_one_group(memory.device, device)) return std::nullopt;
  std::optional<Address> address = known(memory, device);
  if (!address) {
    const std::lock_guard requesting(requesting_);
    address = known(memory, device);
    if (!address) address = request(memory, device);
  }
  return *address == 0 ? std::nullopt : address;
}

std::optional<Address> Attachments::known(const AddressMap::DeviceMemory& memory,
                                          int device) const {
  const std::shared_lock lock(mutex_);
  if (refused_.contains({memory.device, device})) return 0;
  const Allocation* const allocation = value_at(allocations_, memory.begin);
  if (allocation == nullptr) return std::nullopt;
  if (!allocation->shared) return 0;
  const Use* const use = value_at(allocation->uses, device);
  return use == nullptr ? std::nullopt : std::optional(use->address);
}

Address Attachments::request(const AddressMap::DeviceMemory& memory, int device) {
  std::optional<Shared> shared;
  {
    const std::shared_lock lock(mutex_);
    if (const Allocation* known_as = value_at(allocations_, memory.begin))
      shared = known_as->shared;
  }
  // Some failures concern the memory and not the two devices.
  if (!shared) {
    const Status status = status_of(
        [&] { shared = runtime().gpu(memory.device).call(Share{.address = memory.begin}); });
    // Both servers have to mean the same memory.
    if (shared && shared->bytes != memory.bytes) shared.reset();
    const std::unique_lock lock(mutex_);
    allocations_[memory.begin] = {.device = memory.device, .shared = shared};
    if (status != 0 && status != Status{cudaErrorInvalidValue})
      refused_.insert({memory.device, device});
    if (!shared) return 0;
  }
  Gpu& user = runtime().gpu(device);
  Use use{.id = user.new_id()};
  const Status status =
      status_of([&] { use.address = user.call(Attach{.id = use.id, .memory = *shared}).address; });
  const std::unique_lock lock(mutex_);
  allocations_[memory.begin].uses[device] = use;
  if (status != 0 && status != Status{cudaErrorMemoryAllocation} &&
      status != Status{cudaErrorAlreadyMapped}) {
    refused_.insert({memory.device, device});
  }
  return use.address;
}

// A server that is lost no longer uses anything.
void Attachments::detach(const Allocation& allocation) {
  for (const auto& [device, use] : allocation.uses) {
    if (use.address == 0) continue;
    status_of([&] { runtime().gpu(device).call(Detach{.id = use.id}); });
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
    for (auto& [begin, allocation] : allocations_) {
      allocation.uses.erase(device);
      if (allocation.device == device) gone.push_back(allocation);
    }
    std::erase_if(allocations_, [&](const auto& entry) { return entry.second.device == device; });
  }
  for (const Allocation& allocation : gone)
    detach(allocation);
}

}  // namespace gpucast::remote::client
