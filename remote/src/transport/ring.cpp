#include "transport/ring.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "transport/connection.h"

namespace gpucast::remote {
namespace {

template <class Value>
std::atomic_ref<Value> shared(Value& value) {
  static_assert(std::atomic_ref<Value>::is_always_lock_free, "locks are a process's own");
  return std::atomic_ref<Value>(value);
}

[[noreturn]] void refuse() {
  throw ConnectionLost("the other end wrote what cannot be into the shared memory");
}

}  // namespace

void RingWriter::look() {
  const std::uint64_t read = shared(cursors_.read).load(std::memory_order_acquire);
  // Neither beyond what was written, nor back.
  if (written_ - read > written_ - read_) refuse();
  read_ = read;
}

bool RingWriter::has_room() {
  if (room() == 0) look();
  return room() > 0;
}

std::size_t RingWriter::write(std::span<const std::byte> first, std::span<const std::byte> second) {
  if (room() < first.size() + second.size()) look();
  std::size_t total = put(first);
  if (total == first.size()) total += put(second);
  if (total > 0) shared(cursors_.written).store(written_);
  return total;
}

std::size_t RingWriter::put(std::span<const std::byte> bytes) {
  const std::size_t count = std::min(bytes.size(), room());
  const std::size_t at = static_cast<std::size_t>(written_) & (data_.size() - 1);
  const std::size_t to_end = std::min(count, data_.size() - at);
  if (to_end > 0) std::memcpy(data_.data() + at, bytes.data(), to_end);
  if (count > to_end) std::memcpy(data_.data(), bytes.data() + to_end, count - to_end);
  written_ += count;
  return count;
}

// One end writes and then looks whether the other sleeps, which says so and then looks for what is
// written: sequentially consistent, all of it, so that one of them sees the other.
bool RingWriter::takes_sleeper() {
  const auto sleeps = shared(cursors_.reader_sleeps);
  return sleeps.load() != 0 && sleeps.exchange(0) != 0;
}

std::size_t RingReader::there() {
  const std::uint64_t written = shared(cursors_.written).load();
  if (written - read_ > data_.size()) refuse();
  return static_cast<std::size_t>(written - read_);
}

std::size_t RingReader::read(std::span<std::byte> into) {
  const std::size_t count = std::min(there(), into.size());
  if (count == 0) return 0;
  const std::size_t at = static_cast<std::size_t>(read_) & (data_.size() - 1);
  const std::size_t to_end = std::min(count, data_.size() - at);
  std::memcpy(into.data(), data_.data() + at, to_end);
  if (count > to_end) std::memcpy(into.data() + to_end, data_.data(), count - to_end);
  read_ += count;
  shared(cursors_.read).store(read_, std::memory_order_release);
  return count;
}

void RingReader::sleeps(bool whether) { shared(cursors_.reader_sleeps).store(whether ? 1 : 0); }

}  // namespace gpucast::remote
