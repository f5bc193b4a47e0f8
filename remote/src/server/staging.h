// Pinned memory for copies that travel within their message: slots of two sizes, so that small
// copies occupy little of it.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <vector>

#include "protocol/limits.h"
#include "server/driver.h"

namespace gpucast::remote::server {

// Slots of one size, allocated when they are first needed and never freed: the process ends with
// the client.
class SlotPool {
 public:
  struct Size {
    std::size_t slot = 0;     // bytes
    std::size_t at_once = 0;  // slots that are allocated together
    std::size_t most = 0;     // maximum of slots
  };
  SlotPool(const Driver& driver, Size size) : driver_(&driver), size_(size) {}
  ~SlotPool() = default;
  SlotPool(const SlotPool&) = delete;
  SlotPool& operator=(const SlotPool&) = delete;

  // Returns nullptr while all are in use. Throws DriverError if none can be allocated.
  std::byte* take() {
    if (free_.empty()) {
      if (made_ >= size_.most) return nullptr;
      grow();
    }
    std::byte* slot = free_.back();
    free_.pop_back();
    return slot;
  }
  void give_back(std::byte* slot) { free_.push_back(slot); }

 private:
  void grow() {
    void* memory = nullptr;
    check(driver_->cuMemHostAlloc(&memory, size_.at_once * size_.slot, 0));
    for (std::size_t k = 0; k < size_.at_once; ++k)
      free_.push_back(static_cast<std::byte*>(memory) + k * size_.slot);
    made_ += size_.at_once;
  }

  const Driver* driver_;
  Size size_;
  std::vector<std::byte*> free_;
  std::size_t made_ = 0;
};

class Staging {
 public:
  struct Slot {
    std::byte* data = nullptr;  // nullptr: none
    SlotPool* pool = nullptr;
  };

  explicit Staging(const Driver& driver) : small_(driver, small), large_(driver, large) {}

  // Returns a slot of at least `bytes` (at most most_inline); none while all of that size are in
  // use. Throws DriverError if pinned memory cannot be allocated.
  Slot take(std::size_t bytes) {
    SlotPool& pool = bytes <= small.slot ? small_ : large_;
    return {.data = pool.take(), .pool = &pool};
  }
  static void give_back(const Slot& slot) {
    if (slot.data != nullptr) slot.pool->give_back(slot.data);
  }

 private:
  static constexpr SlotPool::Size small{.slot = std::size_t{64} << 10, .at_once = 32, .most = 512};
  static constexpr SlotPool::Size large{.slot = most_inline, .at_once = 4, .most = 64};

  SlotPool small_;
  SlotPool large_;
};

// Assigns parts of a ring of memory to pieces. The oldest is returned first.
class RingSpace {
 public:
  explicit RingSpace(std::size_t bytes) : bytes_(bytes) {}

  // Returns where this many contiguous bytes (at most the ring's size) are free; nothing while the
  // oldest piece is in the way.
  std::optional<std::size_t> take(std::size_t bytes) {
    const auto begin = place_for(bytes);
    if (begin) taken_.push_back({.begin = *begin, .end = *begin + bytes});
    return begin;
  }
  void give_back_oldest() { taken_.pop_front(); }
  void give_back_newest() { taken_.pop_back(); }
  // The number of pieces that are in use.
  std::size_t size() const { return taken_.size(); }

 private:
  struct Range {
    std::size_t begin = 0;
    std::size_t end = 0;
  };

  std::optional<std::size_t> place_for(std::size_t bytes) const {
    if (taken_.empty()) return bytes <= bytes_ ? std::optional<std::size_t>(0) : std::nullopt;
    const std::size_t first = taken_.front().begin;
    const Range& last = taken_.back();
    const bool around = last.begin < first;
    if ((around ? first : bytes_) - last.end >= bytes) return last.end;
    if (!around && first >= bytes) return 0;
    return std::nullopt;
  }

  std::size_t bytes_;
  std::deque<Range> taken_;
};

}  // namespace gpucast::remote::server
