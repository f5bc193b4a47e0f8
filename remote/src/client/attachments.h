// Memory of one device that the servers of others have attached, so that they copy it themselves.
// Asked for when it is first wanted, and kept until the memory is freed.
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
  // Where the memory begins for the server of another device; nothing where that one cannot have
  // it, which is asked for once.
  std::optional<Address> find(const AddressMap::DeviceMemory& memory, int device);

  // Before the memory that begins there is freed: waits until no server uses it any more.
  void detach(Address begin);
  // Before the device is reset, which ends its own uses.
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

  // Where it begins, 0 where it is refused; nothing where that is not known.
  std::optional<Address> known(const AddressMap::DeviceMemory& memory, int device) const;
  Address request(const AddressMap::DeviceMemory& memory, int device);
  static void detach(const Allocation& allocation);

  std::mutex requesting_;
  mutable std::shared_mutex mutex_;
  std::map<Address, Allocation> allocations_;
  std::set<std::pair<int, int>> refused_;  // whose memory, by whose server
};

}  // namespace gpucast::remote::client
