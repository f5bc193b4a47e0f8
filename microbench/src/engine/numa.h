// Where memory of the host lies (NUMA nodes), by the kernel's own calls.
#pragma once

#include <optional>
#include <string>

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

}  // namespace gpucast::microbench
