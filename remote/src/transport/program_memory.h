// Checks whether a program has the memory that it names. Connections that copy bytes themselves
// check before they access it; for sockets the system does it.
#pragma once

#include <cstddef>
#include <mutex>
#include <span>

#include "gpucast/support/descriptor.h"

namespace gpucast::remote {

// May be called from any thread. The check writes a byte of every page to a pipe, and reads them
// back if the page is to be written: a signal handler would interfere with the program's own.
class ProgramMemory {
 public:
  // Both throw std::runtime_error if no descriptors are left for the pipe, which is made when it is
  // first needed.
  bool may_read(std::span<const std::byte> memory);
  // The memory's content does not change.
  bool may_write(std::span<std::byte> memory);

 private:
  bool passes(const std::byte* data, std::size_t bytes, bool back);

  std::mutex mutex_;
  support::Descriptor reading_;
  support::Descriptor writing_;
};

}  // namespace gpucast::remote
