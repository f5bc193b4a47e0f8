// Memory that servers of one host share (CUDA IPC): this client's allocations for others of its
// servers, and theirs here. The client passes the driver's handles between them; a key of the host
// proves that a server issued them, so that nobody can guess a handle.
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

// A key that all servers of one user on one host have, and nobody else: it proves that a message
// that a client passed on comes from one of them.
class HostKey {
 public:
  // Reads the key from a file of the user's own folder ($XDG_RUNTIME_DIR, or /tmp/gpucast-UID),
  // which is made if necessary. Throws std::runtime_error with one line if others could read or
  // change it.
  HostKey();

  // Returns the same for all servers with the key, and does not reveal it.
  std::string id() const;
  Digest sign(std::span<const std::uint8_t> message) const;

 private:
  Digest key_{};
};

class PeerMemory {
 public:
  // Without a key every request is refused.
  PeerMemory(const Driver& driver, const std::optional<HostKey>& key);

  // Servers with the same group share memory; empty: this server shares none.
  std::string group() const;

  // Whether attached memory covers the range.
  bool holds(Address address, std::uint64_t bytes) const;

  // Shares an allocation of cuMemAlloc.
  Shared share(Address begin, std::uint64_t bytes) const;
  // Returns its address on this server.
  Address attach(const Attach& call);
  // To be called once nothing uses it any more.
  void detach(Id id);
  void detach_all();

 private:
  const Driver& driver_;
  std::optional<HostKey> key_;
  struct Range {
    std::uint64_t bytes = 0;
    CUdeviceptr mapped = 0;  // the beginning of what the driver has opened
  };
  std::map<Address, Range> ranges_;
  std::unordered_map<Id, Address> attached_;
};

}  // namespace gpucast::remote::server
