// Memory that servers of one host use together (CUDA IPC): this client's allocations for others of
// its servers, and theirs here. A client carries the driver's handles from one to the other; the
// host's key proves that a server gave them out, so that nobody guesses his way into memory.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <unordered_map>

#include "protocol/calls.h"
#include "server/driver.h"
#include "server/host_key.h"

namespace gpucast::remote::server {

class PeerMemory {
 public:
  // Every request is refused where there is no key.
  PeerMemory(const Driver& driver, const std::optional<HostKey>& key);

  // Servers with the same name of a group share memory; empty: this one shares none.
  std::string group() const;

  // Whether attached memory covers the range.
  bool holds(Address address, std::uint64_t bytes) const;

  // An allocation of cuMemAlloc.
  Shared share(Address begin, std::uint64_t bytes) const;
  // Where it begins here.
  Address attach(const Attach& call);
  // Once nothing uses it any more.
  void detach(Id id);
  void detach_all();

 private:
  const Driver& driver_;
  std::optional<HostKey> key_;
  struct Range {
    std::uint64_t bytes = 0;
    CUdeviceptr mapped = 0;  // what the driver opened
  };
  std::map<Address, Range> ranges_;
  std::unordered_map<Id, Address> attached_;
};

}  // namespace gpucast::remote::server
