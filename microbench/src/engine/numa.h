// The placement of host memory (NUMA nodes), by system calls, and the time of the first access.
#pragma once

#include <linux/mempolicy.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cctype>
#include <cstddef>
#include <fstream>
#include <limits>
#include <new>
#include <optional>
#include <string>

#include "gpucast/devices/clock.h"

namespace gpucast::microbench {

// The node near a PCI device ("0000:00:06.0", any case); nothing if the system does not know, as in
// most virtual machines.
inline std::optional<int> node_of_pci(std::string bus_id) {
  for (char& c : bus_id)
    c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  std::ifstream file("/sys/bus/pci/devices/" + bus_id + "/numa_node");
  int node = -1;
  if (!(file >> node) || node < 0) return std::nullopt;
  return node;
}

// The node of the page of `address`; nothing if that is unknown: not touched yet, or memory of a
// driver.
inline std::optional<int> node_of(void* address) {
  int node = -1;
  constexpr unsigned long of_address = MPOL_F_NODE | MPOL_F_ADDR;
  if (syscall(SYS_get_mempolicy, &node, nullptr, 0UL, address, of_address) != 0 || node < 0)
    return std::nullopt;
  return node;
}

// While this exists, memory that this thread touches first comes from `node` if it has some left;
// node_of tells whether it did. Does nothing without a node, or if policies are not allowed.
class PreferNode {
 public:
  explicit PreferNode(std::optional<int> node) {
    // A set of nodes in the form of the system call.
    using Mask = std::array<unsigned long, 16>;
    constexpr std::size_t bits = std::numeric_limits<unsigned long>::digits;
    constexpr unsigned long mask_bits = bits * std::tuple_size_v<Mask>;
    if (!node || static_cast<unsigned long>(*node) >= mask_bits) return;
    const auto number = static_cast<std::size_t>(*node);
    Mask mask{};
    mask.at(number / bits) = 1UL << (number % bits);
    set_ = syscall(SYS_set_mempolicy, MPOL_PREFERRED, mask.data(), mask_bits) == 0;
  }
  ~PreferNode() {
    if (set_) syscall(SYS_set_mempolicy, MPOL_DEFAULT, nullptr, 0UL);
  }
  PreferNode(const PreferNode&) = delete;
  PreferNode& operator=(const PreferNode&) = delete;

 private:
  bool set_ = false;
};

// Pageable memory whose pages have never been written: the system allocates them at the first
// access.
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
