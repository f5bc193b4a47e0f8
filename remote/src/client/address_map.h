// Finds the memory that an address belongs to: memory of a device, or pinned host memory.
//
// Every server has an address space of its own, and so has this process. What a server allocates is
// reserved here too, so that an address has one meaning only, as CUDA programs expect.
#pragma once

#include <sys/mman.h>
#include <cstddef>
#include <iterator>
#include <limits>
#include <map>
#include <mutex>
#include <optional>
#include <shared_mutex>

#include "client/status.h"
#include "protocol/calls.h"
#include "protocol/ranges.h"

namespace gpucast::remote::client {

class AddressMap {
 public:
  struct DeviceMemory {
    int device = 0;
    Address begin = 0;
    std::size_t bytes = 0;
    bool pooled = false;
  };

  // Reserves the addresses for the device; returns false if they are in use already. Blocks stay
  // reserved when memory is freed, since the server will use them again.
  bool reserve(int device, Address begin, std::size_t bytes) {
    if (begin > std::numeric_limits<Address>::max() - block || bytes > ~(begin + block))
      return false;
    const std::unique_lock lock(mutex_);
    const Address end = up(begin + bytes);
    for (Address at = down(begin); at < end; at += block)
      if (const int* owner = value_at(blocks_, at); owner != nullptr && *owner != device)
        return false;
    for (Address at = down(begin); at < end; at += block) {
      if (blocks_.contains(at)) continue;
      if (!map_at(at, block)) return false;
      blocks_[at] = device;
    }
    return true;
  }
  // Returns addresses that are free here, now reserved for the device, or 0 if there are none.
  Address reserve_anywhere(int device, std::size_t bytes) {
    const std::unique_lock lock(mutex_);
    const std::size_t whole = up(bytes);
    Address at = quiet;
    // Begins behind the last block that was reserved there.
    const auto beyond = blocks_.lower_bound(2 * quiet);
    if (beyond != blocks_.begin() && std::prev(beyond)->first >= quiet)
      at = std::prev(beyond)->first + block;
    constexpr int tries = 64;
    for (int k = 0; k < tries; ++k, at += whole) {
      const auto next = blocks_.lower_bound(at);
      if (next != blocks_.end() && next->first < at + whole) continue;
      if (!map_at(at, whole)) continue;
      for (Address taken = at; taken < at + whole; taken += block)
        blocks_[taken] = device;
      return at;
    }
    return 0;
  }

  void add(int device, Address begin, std::size_t bytes, bool pooled = false) {
    const std::unique_lock lock(mutex_);
    device_memory_[begin] = {.device = device, .begin = begin, .bytes = bytes, .pooled = pooled};
  }
  // Removes and returns the allocation that begins there.
  std::optional<DeviceMemory> remove(Address begin) {
    const std::unique_lock lock(mutex_);
    const auto removed = device_memory_.extract(begin);
    return removed ? std::optional(removed.mapped()) : std::nullopt;
  }
  // Returns the allocation that covers the address.
  std::optional<DeviceMemory> device_memory(Address address) const {
    const std::shared_lock lock(mutex_);
    const auto at = holder(device_memory_, address, 1);
    return at == device_memory_.end() ? std::nullopt : std::optional(at->second);
  }
  void forget(int device) {
    const std::unique_lock lock(mutex_);
    std::erase_if(device_memory_, [&](const auto& entry) { return entry.second.device == device; });
  }

  // Returns false if some of it is pinned already.
  bool pin(const void* begin, std::size_t bytes, unsigned flags, bool allocated) {
    const std::unique_lock lock(mutex_);
    const Address at = address_of(begin);
    const auto next = pinned_.lower_bound(at);
    if (next != pinned_.end() && next->first - at < bytes) return false;
    if (next != pinned_.begin()) {
      const auto& [before, memory] = *std::prev(next);
      if (at - before < memory.bytes) return false;
    }
    pinned_[at] = {.bytes = bytes, .flags = flags, .allocated = allocated};
    return true;
  }
  struct Pinned {
    std::size_t bytes = 0;
    unsigned flags = 0;
    bool allocated = false;  // allocated here, not registered by the program
  };
  // Removes and returns the allocation that begins there if it was made in this way.
  std::optional<Pinned> unpin(const void* begin, bool allocated) {
    const std::unique_lock lock(mutex_);
    const auto at = pinned_.find(address_of(begin));
    if (at == pinned_.end() || at->second.allocated != allocated) return std::nullopt;
    return pinned_.extract(at).mapped();
  }
  // Returns the allocation that covers the whole range.
  std::optional<Pinned> pinned(const void* begin, std::size_t bytes) const {
    const std::shared_lock lock(mutex_);
    const auto at = holder(pinned_, address_of(begin), bytes);
    return at == pinned_.end() ? std::nullopt : std::optional(at->second);
  }
  bool has_pinned() const {
    const std::shared_lock lock(mutex_);
    return !pinned_.empty();
  }

 private:
  // The unit in which drivers map memory; a block belongs to one device.
  static constexpr std::size_t block = std::size_t{2} << 20;
  // A region where hardly any program has memory.
  static constexpr Address quiet = Address{0x2000} << 32;
  static Address down(Address address) { return address / block * block; }
  static Address up(Address address) { return (address + block - 1) / block * block; }
  // Maps addresses without memory behind them.
  static bool map_at(Address begin, std::size_t bytes) {
    void* wanted = reinterpret_cast<void*>(begin);
    void* got = ::mmap(wanted, bytes, PROT_NONE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
    if (got == MAP_FAILED) return false;
    if (got == wanted) return true;
    ::munmap(got, bytes);  // old kernels take the address as a hint
    return false;
  }

  mutable std::shared_mutex mutex_;
  std::map<Address, DeviceMemory> device_memory_;
  std::map<Address, int> blocks_;  // reserved blocks, by address
  std::map<Address, Pinned> pinned_;
};

}  // namespace gpucast::remote::client
