// Memory of one device that other servers have attached, so that they copy it themselves. It is
// attached when it is first needed, and stays so until it is freed.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <shared_mutex>
#include <utility>

#include "client/address_map.h"
#include "protocol/calls.h"

namespace gpucast::remote::client {

class Attachments {
 public:
  // Returns the address of the memory for the server of another device, or nothing if that server
  // cannot attach it, which is tried only once.
  std::optional<Address> find(const AddressMap::DeviceMemory& memory, int device);

  // To be called before the memory that begins there is freed: waits until no server uses it.
  void detach(Address begin);
  // To be called before the device is reset, which ends its own uses.
  void forget(int device);

 private:
  struct Use {
    Id id = 0;
    Address address = 0;  // 0: refused
  };
  struct Allocation {
    int device = 0;
    std::optional<Shared> shared = {};  // nothing: its server refuses
    std::map<int, Use> uses = {};       // by device
  };

  // Returns its address there, 0 if it was refused, or nothing if it was not tried yet.
  std::optional<Address> known(const AddressMap::DeviceMemory& memory, int device) const;
  Address request(const AddressMap::DeviceMemory& memory, int device);
  static void detach(const Allocation& allocation);

  std::mutex requesting_;
  mutable std::shared_mutex mutex_;
  std::map<Address, Allocation> allocations_;
  std::set<std::pair<int, int>> refused_;  // devices: owner of the memory, user
};

}  // namespace gpucast::remote::client
