// The two ends of a connection, position-dependent bytes, and memory that the program does not
// have.
#pragma once

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "transport/sockets.h"

namespace gpucast::remote {

// The descriptors of a pair of Unix sockets.
struct Lines {
  Lines() {
    std::array<int, 2> ends{};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()), 0);
    here = support::Descriptor(ends[0]);
    there = support::Descriptor(ends[1]);
  }
  support::Descriptor here;
  support::Descriptor there;
};

struct Pair {
  explicit Pair(Lines lines = {})
      : here(adopt_descriptor(lines.here.release())),
        there(adopt_descriptor(lines.there.release())) {}
  std::unique_ptr<Connection> here;
  std::unique_ptr<Connection> there;
};

// Bytes that differ from those 251 or 256 positions later, so that lost or repeated data is
// noticed.
inline std::vector<std::byte> bytes_of_pattern(std::size_t bytes) {
  std::vector<std::byte> result(bytes);
  for (std::size_t k = 0; k < bytes; ++k)
    result[k] = static_cast<std::byte>(k * 7 + k / 251);
  return result;
}

// A readable page, followed by one without access.
class HalfMemory {
 public:
  // `behind`: bytes behind the page that will be accessed. What else lies there may belong to the
  // sanitizers.
  explicit HalfMemory(std::size_t behind = page)
      : size_(page + behind), all_(::mmap(nullptr, size_, PROT_READ | PROT_WRITE, flags, -1, 0)) {
    ::mprotect(bytes().data() + page, behind, PROT_NONE);
  }
  ~HalfMemory() { ::munmap(all_, size_); }
  HalfMemory(const HalfMemory&) = delete;
  HalfMemory& operator=(const HalfMemory&) = delete;
  std::span<std::byte> bytes() const { return {static_cast<std::byte*>(all_), size_}; }
  std::span<std::byte> good() const { return bytes().first(page); }
  std::byte* bad() const { return bytes().data() + page; }

  static constexpr std::size_t page = 4096;

 private:
  static constexpr int flags = MAP_PRIVATE | MAP_ANONYMOUS;
  std::size_t size_;
  void* all_;
};

}  // namespace gpucast::remote
