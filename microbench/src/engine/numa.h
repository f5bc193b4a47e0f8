// Where memory of the host lies (NUMA nodes), by the kernel's own calls, and what first touches
// take.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <new>
#include <optional>
#include <string>

#include "gpucast/devices/clock.h"

namespace gpucast::microbench {

// The node that a PCI device ("0000:00:06.0", any case) is near; nothing where the system does not
// say, as most virtual machines.
std::optional<int> node_of_pci(std::string bus_id);

// The node where the page of `address` lies; nothing where that cannot be told: not touched yet, or
// memory of a driver.
std::optional<int> node_of(void* address);

// Memory that this thread touches first comes from `node` while this lives, if there is some left:
// whether it did, node_of says. Does nothing for no node, or where policies are not allowed.
class PreferNode {
 public:
  explicit PreferNode(std::optional<int> node);
  ~PreferNode();
  PreferNode(const PreferNode&) = delete;
  PreferNode& operator=(const PreferNode&) = delete;

 private:
  bool set_ = false;
};

// Pageable memory whose pages nobody has written yet: the system gives them at the first touch.
class UntouchedMemory {
 public:
  explicit UntouchedMemory(std::size_t bytes)
      : bytes_(bytes),
        data_(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {
    if (data_ == MAP_FAILED) throw std::bad_alloc();
  }
  ~UntouchedMemory() { munmap(data_, bytes_); }
  UntouchedMemory(const UntouchedMemory&) = delete;
  UntouchedMemory& operator=(const UntouchedMemory&) = delete;

  void* data() const { return data_; }

 private:
  std::size_t bytes_;
  void* data_;
};

// Seconds of a write to each page.
inline double touch_pages(void* data, std::size_t bytes) {
  constexpr std::size_t page = 4096;
  auto* first = static_cast<volatile unsigned char*>(data);
  const auto begin = devices::Clock::now();
  for (std::size_t k = 0; k < bytes; k += page)
    first[k] = 1;
  return devices::seconds_since(begin);
}

inline double seconds_to_allocate(std::size_t bytes) {
  const auto begin = devices::Clock::now();
  const UntouchedMemory array(bytes);
  return devices::seconds_since(begin);
}

inline double seconds_to_touch(std::size_t bytes) {
  const UntouchedMemory array(bytes);
  return touch_pages(array.data(), bytes);
}

}  // namespace gpucast::microbench
