#include "engine/numa.h"

#include <linux/mempolicy.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cctype>
#include <fstream>
#include <limits>

namespace gpucast::microbench {
namespace {

// A set of nodes, as the kernel takes it.
using Mask = std::array<unsigned long, 16>;
constexpr std::size_t bits = std::numeric_limits<unsigned long>::digits;
constexpr unsigned long mask_bits = bits * std::tuple_size_v<Mask>;

}  // namespace

std::optional<int> node_of_pci(std::string bus_id) {
  for (char& c : bus_id)
    c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  std::ifstream file("/sys/bus/pci/devices/" + bus_id + "/numa_node");
  int node = -1;
  if (!(file >> node) || node < 0) return std::nullopt;
  return node;
}

std::optional<int> node_of(void* address) {
  int node = -1;
  constexpr unsigned long of_address = MPOL_F_NODE | MPOL_F_ADDR;
  if (syscall(SYS_get_mempolicy, &node, nullptr, 0UL, address, of_address) != 0 || node < 0) {
    return std::nullopt;
  }
  return node;
}

PreferNode::PreferNode(std::optional<int> node) {
  if (!node || static_cast<unsigned long>(*node) >= mask_bits) return;
  const auto number = static_cast<std::size_t>(*node);
  Mask mask{};
  mask.at(number / bits) = 1UL << (number % bits);
  set_ = syscall(SYS_set_mempolicy, MPOL_PREFERRED, mask.data(), mask_bits) == 0;
}

PreferNode::~PreferNode() {
  if (set_) syscall(SYS_set_mempolicy, MPOL_DEFAULT, nullptr, 0UL);
}

}  // namespace gpucast::microbench
