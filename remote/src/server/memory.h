// A client's memory on the GPU: its allocations, its pools, and the memory of other servers that it
// uses.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <unordered_map>

#include "protocol/calls.h"
#include "server/driver.h"
#include "server/peer_memory.h"
#include "server/streams.h"

namespace gpucast::remote::server {

class Memory {
 public:
  // In bytes; 0: the GPU's memory. Without a key no memory is shared.
  Memory(const Driver& driver, Streams& streams, int device, std::uint64_t most_memory,
         const std::optional<HostKey>& key);

  std::string group() const { return peers_.group(); }
  bool holds(Address address, std::uint64_t bytes) const;
  // A number that changes whenever some memory is released.
  std::uint64_t released() const { return released_; }
  // Frees everything; nothing uses it any more.
  void reset();

  Allocated run(const MemAlloc&);
  void run(const MemFree&);
  MemAmounts run(const MemInfo&) const;
  Shared run(const Share&) const;
  Attached run(const Attach& call) { return {.address = peers_.attach(call)}; }
  // To be called once all streams are finished.
  void run(const Detach& call) {
    ++released_;
    peers_.detach(call.id);
  }
  // Allocations and frees in a stream's order.
  Allocated run(const PoolAlloc&);
  void run(const PoolFree&);
  void run(const PoolCreate&);
  void run(const PoolDestroy&);
  void run(const PoolTrim&);
  void run(const PoolSet&);
  PoolValue run(const PoolGet&);

 private:
  struct Allocation {
    std::uint64_t bytes = 0;
    std::uint64_t taken = 0;  // of the GPU's memory, at least
    bool placed = false;
    bool pooled = false;
    CUmemGenericAllocationHandle handle = 0;
  };

  // Throws DriverError if the client would exceed its limit.
  void require_room(std::uint64_t bytes) const;
  Allocated hold(Address address, const Allocation& allocation);
  // Throws DriverError if the client has no such allocation, or it is of the other kind.
  Allocation release(Address address, bool pooled);
  CUmemoryPool pool(Id id);
  CUresult allocate_at(const MemAlloc& call, Allocation& allocation) const;
  CUresult free(Address address, const Allocation& allocation) const;

  const Driver& driver_;
  Streams& streams_;
  int ordinal_;
  std::uint64_t most_memory_;
  std::uint64_t used_memory_ = 0;
  std::uint64_t released_ = 0;
  std::map<Address, Allocation> allocations_;
  PeerMemory peers_;
  CUmemoryPool usual_pool_ = nullptr;
  std::unordered_map<Id, CUmemoryPool> pools_;
};

}  // namespace gpucast::remote::server
