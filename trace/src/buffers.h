// Buffers that CUPTI fills. They are returned zeroed; otherwise CUPTI would clear them itself,
// within the program's own calls.
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
  // CUPTI gives each thread of the program a buffer of its own.
  static constexpr std::size_t bytes = std::size_t{1} << 20;

  ~Buffers() { std::ranges::for_each(free_, release); }

  // Makes a buffer that is not kept for reuse. Throws std::bad_alloc.
  static std::uint8_t* fresh() {
    // Records need an alignment of 8 bytes, which calloc guarantees; it need not touch pages to
    // clear them.
    void* const buffer = std::calloc(bytes, 1);  // NOLINT(cppcoreguidelines-no-malloc)
    if (buffer == nullptr) throw std::bad_alloc();
    return static_cast<std::uint8_t*>(buffer);
  }

  // Never returns nullptr, with which CUPTI before 12.9 crashes. Throws std::bad_alloc.
  std::uint8_t* take() {
    const std::scoped_lock lock(mutex_);
    if (free_.empty()) return fresh();
    std::uint8_t* const buffer = free_.back();
    free_.pop_back();
    return buffer;
  }

  // `written`: the number of bytes that CUPTI has written; only these have to be cleared.
  void give_back(std::uint8_t* buffer, std::size_t written) {
    std::memset(buffer, 0, std::min(written, bytes));
    const std::scoped_lock lock(mutex_);
    if (free_.size() < most_kept)
      free_.push_back(buffer);
    else
      release(buffer);
  }

 private:
  // If more are free at a time, they are returned to the system.
  static constexpr std::size_t most_kept = 64;

  static void release(std::uint8_t* buffer) {
    std::free(buffer);  // NOLINT(cppcoreguidelines-no-malloc): as it was made
  }

  std::mutex mutex_;
  std::vector<std::uint8_t*> free_;
};

}  // namespace gpucast::trace
