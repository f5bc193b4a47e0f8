// A byte stream in one direction through memory that two processes share.
//
// Each end keeps its own position privately and trusts nothing in the memory: the other's position
// is read once, and is either valid or ends the connection. Positions count bytes since the
// beginning; their difference is the content of the ring.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "transport/connection.h"

namespace gpucast::remote {

// The layout of the positions in memory, each part on its own cache line.
struct RingCursors {
  alignas(64) std::uint64_t written;
  alignas(64) std::uint64_t read;
  alignas(64) std::uint32_t reader_sleeps;

  template <class Value>
  static std::atomic_ref<Value> shared(Value& value) {
    static_assert(std::atomic_ref<Value>::is_always_lock_free, "locks are a process's own");
    return std::atomic_ref<Value>(value);
  }
  [[noreturn]] static void refuse() {
    throw ConnectionLost("the other end wrote what cannot be into the shared memory");
  }
};

// Both classes throw ConnectionLost if the other end's position is invalid.
class RingWriter {
 public:
  // The size of `data` is a power of two.
  RingWriter(RingCursors& cursors, std::span<std::byte> data) : cursors_(cursors), data_(data) {}

  bool has_room() {
    if (room() == 0) look();
    return room() > 0;
  }
  // Writes as much as there is room for of the first, followed by the second; returns that number
  // of bytes.
  std::size_t write(std::span<const std::byte> first, std::span<const std::byte> second) {
    if (room() < first.size() + second.size()) look();
    std::size_t total = put(first);
    if (total == first.size()) total += put(second);
    if (total > 0) RingCursors::shared(cursors_.written).store(written_);
    return total;
  }
  // To be called after writing: whether the reader has to be woken; only one caller gets true.
  //
  // The writer writes and then checks whether the reader sleeps; the reader announces its sleep and
  // then checks for data. All of this is sequentially consistent, so that one of them notices the
  // other.
  bool takes_sleeper() {
    const auto sleeps = RingCursors::shared(cursors_.reader_sleeps);
    return sleeps.load() != 0 && sleeps.exchange(0) != 0;
  }

 private:
  std::size_t room() const { return data_.size() - static_cast<std::size_t>(written_ - read_); }
  void look() {
    const std::uint64_t read = RingCursors::shared(cursors_.read).load(std::memory_order_acquire);
    // The position may neither exceed what was written nor decrease.
    if (written_ - read > written_ - read_) RingCursors::refuse();
    read_ = read;
  }
  std::size_t put(std::span<const std::byte> bytes) {
    const std::size_t count = std::min(bytes.size(), room());
    const std::size_t at = static_cast<std::size_t>(written_) & (data_.size() - 1);
    const std::size_t to_end = std::min(count, data_.size() - at);
    if (to_end > 0) std::memcpy(data_.data() + at, bytes.data(), to_end);
    if (count > to_end) std::memcpy(data_.data(), bytes.data() + to_end, count - to_end);
    written_ += count;
    return count;
  }

  RingCursors& cursors_;
  std::span<std::byte> data_;
  std::uint64_t written_ = 0;
  std::uint64_t read_ = 0;  // the last known value
};

class RingReader {
 public:
  RingReader(RingCursors& cursors, std::span<const std::byte> data)
      : cursors_(cursors), data_(data) {}

  bool has_data() { return there() > 0; }
  // Reads what has arrived, as much as fits.
  std::size_t read(std::span<std::byte> into) {
    const std::size_t count = std::min(there(), into.size());
    if (count == 0) return 0;
    const std::size_t at = static_cast<std::size_t>(read_) & (data_.size() - 1);
    const std::size_t to_end = std::min(count, data_.size() - at);
    std::memcpy(into.data(), data_.data() + at, to_end);
    if (count > to_end) std::memcpy(into.data() + to_end, data_.data(), count - to_end);
    read_ += count;
    RingCursors::shared(cursors_.read).store(read_, std::memory_order_release);
    return count;
  }
  // Requests a wake-up from the writer; the caller has to check once more before it sleeps.
  void sleeps(bool whether) { RingCursors::shared(cursors_.reader_sleeps).store(whether ? 1 : 0); }

 private:
  std::size_t there() {
    const std::uint64_t written = RingCursors::shared(cursors_.written).load();
    if (written - read_ > data_.size()) RingCursors::refuse();
    return static_cast<std::size_t>(written - read_);
  }

  RingCursors& cursors_;
  std::span<const std::byte> data_;
  std::uint64_t read_ = 0;
};

}  // namespace gpucast::remote
