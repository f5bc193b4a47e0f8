// Whether a program has the memory that it names. Connections that move bytes themselves ask before
// they touch it, where a socket is told so by the system.
#pragma once

#include <cstddef>
#include <mutex>
#include <span>

#include "gpucast/support/descriptor.h"

namespace gpucast::remote {

// From any thread. The system is asked, by a pipe that takes a byte of every page, and gives them
// back where that page is to be written: a signal's handler would be the program's business.
class ProgramMemory {
 public:
  // Both throw std::runtime_error where there are no descriptors for a pipe, which is made when it
  // is first needed.
  bool may_read(std::span<const std::byte> memory);
  // Its content stays as it is.
  bool may_write(std::span<std::byte> memory);

 private:
  bool passes(const std::byte* data, std::size_t bytes, bool back);

  std::mutex mutex_;
  support::Descriptor reading_;
  support::Descriptor writing_;
};

}  // namespace gpucast::remote
