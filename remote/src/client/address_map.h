// Whose memory an address is: of which device, or pinned on the host.
//
// Every server has an address space of its own, and so has this process. What a server allocates is
// reserved here too, so that an address means one thing only, as programs expect of CUDA.
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

  // Reserves the addresses for the device; false if something else is there already.
  // Blocks stay reserved when memory is freed: the server will use them again.
  bool reserve(int device, Address begin, std::size_t bytes) {
    if (begin > std::numeric_limits<Address>::max() - block || bytes > ~(begin + block))
      return false;
    const std::unique_lock lock(mutex_);
    const Address end = up(begin + bytes);
    for (Address at = down(begin); at < end; at += block) {
      if (const int* owner = value_at(blocks_, at); owner != nullptr && *owner != device)
        return false;
    }
    for (Address at = down(begin); at < end; at += block) {
      if (blocks_.contains(at)) continue;
      if (!map_at(at, block)) return false;
      blocks_[at] = device;
    }
    return true;
  }
  // Addresses that are free here, reserved for the device; 0 if there are none.
  Address reserve_anywhere(int device, std::size_t bytes) {
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
  // Removes the allocation that begins there, and returns it.
  std::optional<DeviceMemory> remove(Address begin) {
    const std::unique_lock lock(mutex_);
    const auto removed = device_memory_.extract(begin);
    return removed ? std::optional(removed.mapped()) : std::nullopt;
  }
  // The allocation that covers the address.
  std::optional<DeviceMemory> device_memory(Address address) const {
    const std::shared_lock lock(mutex_);
    const auto at = holder(device_memory_, address, 1);
    return at == device_memory_.end() ? std::nullopt : std::optional(at->second);
  }
  void forget(int device) {
    const std::unique_lock lock(mutex_);
    std::erase_if(device_memory_, [&](const auto& entry) { return entry.second.device == device; });
  }

  // False where some of it is pinned already.
  bool pin(const void* begin, std::size_t bytes, unsigned flags, bool allocated) {
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
  struct Pinned {
    std::size_t bytes = 0;
    unsigned flags = 0;
    bool allocated = false;  // here, rather than registered by the program
  };
  // Returns the allocation that begins there, and removes it if it was made so.
  std::optional<Pinned> unpin(const void* begin, bool allocated) {
    const std::unique_lock lock(mutex_);
    const auto at = pinned_.find(reinterpret_cast<Address>(begin));
    if (at == pinned_.end() || at->second.allocated != allocated) return std::nullopt;
    return pinned_.extract(at).mapped();
  }
  // The allocation that covers the whole range.
  std::optional<Pinned> pinned(const void* begin, std::size_t bytes) const {
    const std::shared_lock lock(mutex_);
    const auto at = holder(pinned_, reinterpret_cast<Address>(begin), bytes);
    return at == pinned_.end() ? std::nullopt : std::optional(at->second);
  }
  bool has_pinned() const {
    const std::shared_lock lock(mutex_);
    return !pinned_.empty();
  }

 private:
  // What drivers take memory in; a block belongs to one device.
  static constexpr std::size_t block = std::size_t{2} << 20;
  // Where hardly any program has memory of its own.
  static constexpr Address quiet = Address{0x2000} << 32;
  static Address down(Address address) { return address / block * block; }
  static Address up(Address address) { return (address + block - 1) / block * block; }
  // Without memory behind it.
  static bool map_at(Address begin, std::size_t bytes) {
    void* wanted = reinterpret_cast<void*>(begin);
    void* got = ::mmap(wanted, bytes, PROT_NONE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
    if (got == MAP_FAILED) return false;
    if (got == wanted) return true;
    ::munmap(got, bytes);  // a kernel that takes the address for a hint
    return false;
  }

  mutable std::shared_mutex mutex_;
  std::map<Address, DeviceMemory> device_memory_;
  std::map<Address, int> blocks_;  // reserved ones, by their beginning
  std::map<Address, Pinned> pinned_;
};

}  // namespace gpucast::remote::client
