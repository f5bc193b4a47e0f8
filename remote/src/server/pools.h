// A client's memory pools: allocations and frees in the order of a stream.
#pragma once

#include <unordered_map>

#include "protocol/calls.h"
#include "server/driver.h"
#include "server/memory.h"
#include "server/streams.h"

namespace gpucast::remote::server {

class Pools {
 public:
  Pools(const Driver& driver, int device, Streams& streams, Memory& memory)
      : driver_(driver), ordinal_(device), streams_(streams), memory_(memory) {}

  Allocated run(const PoolAlloc&);
  void run(const PoolFree&);
  void run(const PoolCreate&);
  void run(const PoolDestroy&);
  void run(const PoolTrim&);
  void run(const PoolSet&);
  PoolValue run(const PoolGet&);
  // Those of the client are gone, with what is in them.
  void reset();

 private:
  // DriverError if there is none.
  CUmemoryPool pool(Id id);

  const Driver& driver_;
  int ordinal_;
  Streams& streams_;
  Memory& memory_;
  CUmemoryPool usual_ = nullptr;
  std::unordered_map<Id, CUmemoryPool> pools_;
};

}  // namespace gpucast::remote::server
