// Checks whether a program has the memory that it names. Connections that copy bytes themselves
// check before they access it; for sockets the system does it.
#pragma once

#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <stdexcept>

#include "gpucast/support/descriptor.h"

namespace gpucast::remote {

// May be called from any thread. The check writes a byte of every page to a pipe, and reads them
// back if the page is to be written: a signal handler would interfere with the program's own.
class ProgramMemory {
 public:
  // Both throw std::runtime_error if no descriptors are left for the pipe, which is made when it is
  // first needed.
  bool may_read(std::span<const std::byte> memory) {
    return passes(memory.data(), memory.size(), false);
  }
  // The memory's content does not change.
  bool may_write(std::span<std::byte> memory) { return passes(memory.data(), memory.size(), true); }

 private:
  static constexpr std::size_t smallest_page = 4096;
  static constexpr std::size_t pages_at_once = 256;
  static std::size_t to_next_page(const std::byte* data) {
    return smallest_page - reinterpret_cast<std::uintptr_t>(data) % smallest_page;
  }

  bool passes(const std::byte* data, std::size_t bytes, bool back) {
    const std::lock_guard lock(mutex_);
    if (!reading_) {
      std::array<int, 2> ends{};
      if (::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) != 0)
        throw std::runtime_error("no descriptors are left for a pipe");
      reading_ = support::Descriptor(ends[0]);
      writing_ = support::Descriptor(ends[1]);
    }
    while (bytes > 0) {
      std::array<iovec, pages_at_once> pages{};
      std::size_t count = 0;
      for (; count < pages_at_once && bytes > 0; ++count) {
        pages[count] = {.iov_base = const_cast<std::byte*>(data), .iov_len = 1};
        const std::size_t step = std::min(bytes, to_next_page(data));
        data += step;
        bytes -= step;
      }
      const ssize_t written = ::writev(writing_.get(), pages.data(), static_cast<int>(count));
      std::array<std::byte, pages_at_once> dropped{};
      const std::size_t there = written < 0 ? 0 : static_cast<std::size_t>(written);
      const bool readable = there == count;
      const bool writable =
          readable && back &&
          ::readv(reading_.get(), pages.data(), static_cast<int>(count)) == written;
      // Empties the pipe again.
      while (!writable && ::read(reading_.get(), dropped.data(), dropped.size()) > 0) {
      }
      if (!readable || (back && !writable)) return false;
    }
    return true;
  }

  std::mutex mutex_;
  support::Descriptor reading_;
  support::Descriptor writing_;
};

}  // namespace gpucast::remote
