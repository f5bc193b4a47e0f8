#include "transport/shared_memory.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <string>

namespace gpucast::remote {
namespace {

constexpr int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

[[noreturn]] void fail(const char* call) {
  throw std::runtime_error(std::string("shared memory: ") + call + ": " + std::strerror(errno));
}

// Whether every page is available: pages of the file system's usual size are allocated on demand or
// the system ends a process, whereas a missing huge page would raise a signal.
bool is_usual(int file) {
  struct statfs facts{};
  return ::fstatfs(file, &facts) == 0 && facts.f_type == TMPFS_MAGIC;
}

}  // namespace

SharedMemory SharedMemory::make(std::size_t bytes, bool at_once) {
  const std::size_t whole = whole_pages(bytes);
  if (whole < bytes) {
    errno = ENOMEM;
    fail("memfd_create");
  }
  support::Descriptor file(::memfd_create("gpucast", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!file) fail("memfd_create");
  if (::ftruncate(file.get(), static_cast<off_t>(whole)) != 0) fail("ftruncate");
  if (::fcntl(file.get(), F_ADD_SEALS, seals) != 0) fail("F_ADD_SEALS");
  return {std::move(file), whole, MAP_SHARED | (at_once ? MAP_POPULATE : 0)};
}

SharedMemory SharedMemory::adopt(support::Descriptor file, std::size_t bytes) {
  const int set_seals = ::fcntl(file.get(), F_GET_SEALS);
  if (set_seals < 0 || (set_seals & seals) != seals || !is_usual(file.get()))
    throw std::runtime_error("shared memory: it is not sealed");
  struct stat facts{};
  if (::fstat(file.get(), &facts) != 0) fail("fstat");
  if (bytes == 0 || facts.st_size < 0 || static_cast<std::size_t>(facts.st_size) < bytes)
    throw std::runtime_error("shared memory: it is shorter than was said");
  return {std::move(file), bytes, MAP_SHARED};
}

SharedMemory::SharedMemory(support::Descriptor file, std::size_t bytes, int flags)
    : file_(std::move(file)) {
  void* got = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, flags, file_.get(), 0);
  if (got == MAP_FAILED) fail("mmap");
  bytes_ = {static_cast<std::byte*>(got), bytes};
}

SharedMemory::~SharedMemory() {
  if (!bytes_.empty()) ::munmap(bytes_.data(), bytes_.size());
}

SharedMemory::SharedMemory(SharedMemory&& other) noexcept
    : file_(std::move(other.file_)), bytes_(std::exchange(other.bytes_, {})) {}

SharedMemory& SharedMemory::operator=(SharedMemory&& other) noexcept {
  std::swap(file_, other.file_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

}  // namespace gpucast::remote
