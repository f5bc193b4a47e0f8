// Memory that several processes of one host have: a file without a name that cannot be made longer
// or shorter any more (memfd_create, sealed), so that nobody's access to it ever fails. Nothing of
// it is left once no process has it.
#pragma once

#include <cstddef>
#include <span>

#include "gpucast/support/descriptor.h"

namespace gpucast::remote {

// The bytes up to the end of their last page; less than them where no number is so large.
constexpr std::size_t whole_pages(std::size_t bytes) {
  constexpr std::size_t page = 4096;
  return (bytes + page - 1) / page * page;
}

class SharedMemory {
 public:
  SharedMemory() = default;
  // Zeros, of whole pages; `at_once`: they are taken now, and not as they are touched.
  // std::runtime_error with one line where there is none.
  static SharedMemory make(std::size_t bytes, bool at_once = false);
  // What another process made. std::runtime_error where it is not of this kind, not sealed, or
  // shorter.
  static SharedMemory adopt(support::Descriptor file, std::size_t bytes);
  ~SharedMemory();
  SharedMemory(SharedMemory&& other) noexcept;
  SharedMemory& operator=(SharedMemory&& other) noexcept;
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  std::span<std::byte> bytes() const { return bytes_; }
  // By which it is given to another process; none once it was closed.
  const support::Descriptor& file() const { return file_; }
  void close_file() { file_.reset(); }

 private:
  SharedMemory(support::Descriptor file, std::size_t bytes, int flags);

  support::Descriptor file_;
  std::span<std::byte> bytes_;
};

}  // namespace gpucast::remote
