// A key that all servers of one user on one host have, and nobody else: by it they know what
// another of them has said, though a client carried it.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "security/hmac.h"

namespace gpucast::remote::server {

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

}  // namespace gpucast::remote::server
