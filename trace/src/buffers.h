// Buffers that CUPTI fills. They come back zeroed, which CUPTI would otherwise do itself, within
// the program's own calls.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace gpucast::trace {

class Buffers {
 public:
  // CUPTI gives each thread of the program one of its own.
  static constexpr std::size_t bytes = std::size_t{1} << 20;

  // One that nobody keeps. Throws std::bad_alloc.
  static std::uint8_t* fresh();
  // Never nullptr: CUPTI before 12.9 crashes where it gets none. Throws std::bad_alloc.
  std::uint8_t* take();
  // With as many bytes written as CUPTI says; only they have to be cleared.
  void give_back(std::uint8_t* buffer, std::size_t written);

  Buffers() = default;
  ~Buffers();
  Buffers(const Buffers&) = delete;
  Buffers& operator=(const Buffers&) = delete;

 private:
  // More that are free at a time are given back to the system.
  static constexpr std::size_t most_kept = 64;

  std::mutex mutex_;
  std::vector<std::uint8_t*> free_;
};

}  // namespace gpucast::trace
