// Memory that servers of one host use together (CUDA IPC): this client's allocations for others of
// its servers, and theirs here. A client carries the driver's handles from one to the other; the
// host's key proves that a server gave them out, so that nobody guesses his way into memory.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>

#include "protocol/calls.h"
#include "security/key.h"
#include "server/driver.h"

namespace gpucast::remote::server {

// A key that all servers of one user on one host have, and nobody else: by it they know what
// another of them has said, though a client carried it.
class HostKey {
 public:
  // From the file of the user's own folder ($XDG_RUNTIME_DIR, else /tmp/gpucast-UID), which is made
  // if it is not there. std::runtime_error with one line where others could read or change it.
  HostKey();

  // The same for all who have the key; says nothing of it.
  std::string id() const;
  Digest sign(std::span<const std::uint8_t> message) const;

 private:
  Digest key_{};
};

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
