#include "client/address_map.h"

#include <sys/mman.h>

#include <iterator>
#include <limits>
#include <mutex>

#include "protocol/ranges.h"

namespace gpucast::remote::client {
namespace {

// What drivers take memory in; a block belongs to one device.
constexpr std::size_t block = std::size_t{2} << 20;
// Where hardly any program has memory of its own.
constexpr Address quiet = Address{0x2000} << 32;

Address down(Address address) { return address / block * block; }
Address up(Address address) { return (address + block - 1) / block * block; }

// Without memory behind it.
bool map_at(Address begin, std::size_t bytes) {
  void* wanted = reinterpret_cast<void*>(begin);
  void* got = mmap(wanted, bytes, PROT_NONE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
  if (got == MAP_FAILED) return false;
  if (got == wanted) return true;
  munmap(got, bytes);  // a kernel that takes the address for a hint
  return false;
}

}  // namespace

// Blocks stay reserved when memory is freed: the server will use them again.
bool AddressMap::reserve(int device, Address begin, std::size_t bytes) {
  if (begin > std::numeric_limits<Address>::max() - block || bytes > ~(begin + block)) return false;
  const std::unique_lock lock(mutex_);
  const Address end = up(begin + bytes);
  for (Address at = down(begin); at < end; at += block) {
    const auto found = blocks_.find(at);
    if (found != blocks_.end() && found->second != device) return false;
  }
  for (Address at = down(begin); at < end; at += block) {
    if (blocks_.contains(at)) continue;
    if (!map_at(at, block)) return false;
    blocks_[at] = device;
  }
  return true;
}

Address AddressMap::reserve_anywhere(int device, std::size_t bytes) {
  const std::unique_lock lock(mutex_);
  const std::size_t whole = up(bytes);
  Address at = quiet;
  // Behind the last that was taken there.
  const auto beyond = blocks_.lower_bound(2 * quiet);
  if (beyond != blocks_.begin() && std::prev(beyond)->first >= quiet)
    at = std::prev(beyond)->first + block;
  constexpr int tries = 64;
  for (int k = 0; k < tries; ++k, at += whole) {
    const auto next = blocks_.lower_bound(at);
    if (next != blocks_.end() && next->first < at + whole) continue;
    if (!map_at(at, whole)) continue;
    for (Address each = at; each < at + whole; each += block)
      blocks_[each] = device;
    return at;
  }
  return 0;
}

void AddressMap::add(int device, Address begin, std::size_t bytes, bool pooled) {
  const std::unique_lock lock(mutex_);
  device_memory_[begin] = {.device = device, .begin = begin, .bytes = bytes, .pooled = pooled};
}

std::optional<AddressMap::DeviceMemory> AddressMap::remove(Address begin) {
  const std::unique_lock lock(mutex_);
  const auto removed = device_memory_.extract(begin);
  return removed ? std::optional(removed.mapped()) : std::nullopt;
}

std::optional<AddressMap::DeviceMemory> AddressMap::device_memory(Address address) const {
  const std::shared_lock lock(mutex_);
  const auto found = holder(device_memory_, address, 1);
  return found == device_memory_.end() ? std::nullopt : std::optional(found->second);
}

void AddressMap::forget(int device) {
  const std::unique_lock lock(mutex_);
  std::erase_if(device_memory_, [&](const auto& each) { return each.second.device == device; });
}

bool AddressMap::pin(const void* begin, std::size_t bytes, unsigned flags, bool allocated) {
  const std::unique_lock lock(mutex_);
  const auto at = reinterpret_cast<Address>(begin);
  const auto next = pinned_.lower_bound(at);
  if (next != pinned_.end() && next->first - at < bytes) return false;
  if (next != pinned_.begin()) {
    const auto& [before, memory] = *std::prev(next);
    if (at - before < memory.bytes) return false;
  }
  pinned_[at] = {.bytes = bytes, .flags = flags, .allocated = allocated};
  return true;
}

std::optional<AddressMap::Pinned> AddressMap::unpin(const void* begin, bool allocated) {
  const std::unique_lock lock(mutex_);
  const auto found = pinned_.find(reinterpret_cast<Address>(begin));
  if (found == pinned_.end() || found->second.allocated != allocated) return std::nullopt;
  const Pinned result = found->second;
  pinned_.erase(found);
  return result;
}

std::optional<AddressMap::Pinned> AddressMap::pinned(const void* begin, std::size_t bytes) const {
  const std::shared_lock lock(mutex_);
  const auto found = holder(pinned_, reinterpret_cast<Address>(begin), bytes);
  return found == pinned_.end() ? std::nullopt : std::optional(found->second);
}

bool AddressMap::has_pinned() const {
  const std::shared_lock lock(mutex_);
  return !pinned_.empty();
}

}  // namespace gpucast::remote::client
