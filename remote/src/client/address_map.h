// Whose memory an address is: of which device, or pinned on the host.
//
// Every server has an address space of its own, and so has this process. What a server allocates is
// reserved here too, so that an address means one thing only, as programs expect of CUDA.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <shared_mutex>

#include "protocol/calls.h"

namespace gpucast::remote::client {

class AddressMap {
 public:
  struct DeviceMemory {
    int device = 0;
    Address begin = 0;
    std::size_t bytes = 0;
    bool pooled = false;
  };

  // Reserves the addresses for the device; false if something else is there already.
  bool reserve(int device, Address begin, std::size_t bytes);
  // Addresses that are free here, reserved for the device; 0 if there are none.
  Address reserve_anywhere(int device, std::size_t bytes);

  void add(int device, Address begin, std::size_t bytes, bool pooled = false);
  // Removes the allocation that begins there, and returns it.
  std::optional<DeviceMemory> remove(Address begin);
  // The allocation that covers the address.
  std::optional<DeviceMemory> device_memory(Address address) const;
  void forget(int device);

  // False where some of it is pinned already.
  bool pin(const void* begin, std::size_t bytes, unsigned flags, bool allocated);
  struct Pinned {
    std::size_t bytes = 0;
    unsigned flags = 0;
    bool allocated = false;  // here, rather than registered by the program
  };
  // Returns the allocation that begins there, and removes it if it was made so.
  std::optional<Pinned> unpin(const void* begin, bool allocated);
  // The allocation that covers the whole range.
  std::optional<Pinned> pinned(const void* begin, std::size_t bytes) const;
  bool has_pinned() const;

 private:
  mutable std::shared_mutex mutex_;
  std::map<Address, DeviceMemory> device_memory_;
  std::map<Address, int> blocks_;  // reserved ones, by their beginning
  std::map<Address, Pinned> pinned_;
};

}  // namespace gpucast::remote::client
