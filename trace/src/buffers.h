// Buffers that CUPTI fills. They come back zeroed, which CUPTI would otherwise do itself, within
// the program's own calls.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>
#include <vector>

namespace gpucast::trace {

class Buffers {
 public:
  // CUPTI gives each thread of the program one of its own.
  static constexpr std::size_t bytes = std::size_t{1} << 20;

  Buffers() = default;
  ~Buffers() { std::ranges::for_each(free_, release); }
  Buffers(const Buffers&) = delete;
  Buffers& operator=(const Buffers&) = delete;

  // One that nobody keeps. Throws std::bad_alloc.
  static std::uint8_t* fresh() {
    // Records want 8 bytes of alignment, which calloc gives; it does not touch pages to clear them.
    void* const buffer = std::calloc(bytes, 1);  // NOLINT(cppcoreguidelines-no-malloc)
    if (buffer == nullptr) throw std::bad_alloc();
    return static_cast<std::uint8_t*>(buffer);
  }

  // Never nullptr: CUPTI before 12.9 crashes where it gets none. Throws std::bad_alloc.
  std::uint8_t* take() {
    const std::scoped_lock lock(mutex_);
    if (free_.empty()) return fresh();
    std::uint8_t* const buffer = free_.back();
    free_.pop_back();
    return buffer;
  }

  // With as many bytes written as CUPTI says; only they have to be cleared.
  void give_back(std::uint8_t* buffer, std::size_t written) {
    std::memset(buffer, 0, std::min(written, bytes));
    const std::scoped_lock lock(mutex_);
    if (free_.size() < most_kept) {
      free_.push_back(buffer);
    } else {
      release(buffer);
    }
  }

 private:
  // More that are free at a time are given back to the system.
  static constexpr std::size_t most_kept = 64;

  static void release(std::uint8_t* buffer) {
    std::free(buffer);  // NOLINT(cppcoreguidelines-no-malloc): as it was made
  }

  std::mutex mutex_;
  std::vector<std::uint8_t*> free_;
};

}  // namespace gpucast::trace
