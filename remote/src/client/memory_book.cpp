#include "client/memory_book.h"

#include <sys/mman.h>

#include <algorithm>
#include <iterator>
#include <mutex>

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
bool MemoryBook::reserve(int device, Address begin, std::size_t bytes) {
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

Address MemoryBook::reserve_anywhere(int device, std::size_t bytes) {
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

void MemoryBook::add(int device, Address begin, std::size_t bytes) {
  const std::unique_lock lock(mutex_);
  device_memory_[begin] = {.device = device, .begin = begin, .bytes = bytes};
}

std::optional<MemoryBook::DeviceMemory> MemoryBook::remove(Address begin) {
  const std::unique_lock lock(mutex_);
  const auto found = device_memory_.find(begin);
  if (found == device_memory_.end()) return std::nullopt;
  const DeviceMemory result = found->second;
  device_memory_.erase(found);
  return result;
}

std::optional<MemoryBook::DeviceMemory> MemoryBook::device_memory(Address address) const {
  const std::shared_lock lock(mutex_);
  auto found = device_memory_.upper_bound(address);
  if (found == device_memory_.begin()) return std::nullopt;
  --found;
  if (address - found->first >= found->second.bytes) return std::nullopt;
  return found->second;
}

void MemoryBook::forget(int device) {
  const std::unique_lock lock(mutex_);
  std::erase_if(device_memory_, [&](const auto& each) { return each.second.device == device; });
}

bool MemoryBook::pin(const void* begin, std::size_t bytes, unsigned flags, bool allocated) {
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

std::optional<MemoryBook::Pinned> MemoryBook::unpin(const void* begin, bool allocated) {
  const std::unique_lock lock(mutex_);
  const auto found = pinned_.find(reinterpret_cast<Address>(begin));
  if (found == pinned_.end() || found->second.allocated != allocated) return std::nullopt;
  const Pinned result = found->second;
  pinned_.erase(found);
  return result;
}

std::optional<MemoryBook::Pinned> MemoryBook::pinned(const void* begin, std::size_t bytes) const {
  const std::shared_lock lock(mutex_);
  const auto at = reinterpret_cast<Address>(begin);
  auto found = pinned_.upper_bound(at);
  if (found == pinned_.begin()) return std::nullopt;
  --found;
  const std::size_t offset = at - found->first;
  if (offset >= found->second.bytes || bytes > found->second.bytes - offset) return std::nullopt;
  return found->second;
}

}  // namespace gpucast::remote::client
