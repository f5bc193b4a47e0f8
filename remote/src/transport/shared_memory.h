// Memory that several processes of one host share: a file without a name whose size is fixed
// (memfd_create, sealed), so that access to it never fails. It is freed when no process has it.
#pragma once

#include <cstddef>
#include <span>

#include "gpucast/support/descriptor.h"

namespace gpucast::remote {

// Rounds up to whole pages; the result is smaller than `bytes` on overflow.
constexpr std::size_t whole_pages(std::size_t bytes) {
  constexpr std::size_t page = 4096;
  return (bytes + page - 1) / page * page;
}

class SharedMemory {
 public:
  SharedMemory() = default;
  // Makes zeroed memory of whole pages; `at_once`: the pages are allocated now and not at their
  // first use. Throws std::runtime_error with one line if there is none.
  static SharedMemory make(std::size_t bytes, bool at_once = false);
  // Takes memory that another process has made. Throws std::runtime_error if it is not of this
  // kind, not sealed, or shorter.
  static SharedMemory adopt(support::Descriptor file, std::size_t bytes);
  ~SharedMemory();
  SharedMemory(SharedMemory&& other) noexcept;
  SharedMemory& operator=(SharedMemory&& other) noexcept;

  std::span<std::byte> bytes() const { return bytes_; }
  // Passed to another process to share the memory; none once it was closed.
  const support::Descriptor& file() const { return file_; }
  void close_file() { file_.reset(); }

 private:
  SharedMemory(support::Descriptor file, std::size_t bytes, int flags);

  support::Descriptor file_;
  std::span<std::byte> bytes_;
};

}  // namespace gpucast::remote
