// Open connections, passed from the process that accepts them to the one that serves them.
#pragma once

#include <optional>

#include "gpucast/support/descriptor.h"
#include "protocol/handshake.h"

namespace gpucast::remote::server {

using support::Descriptor;

// A connection that has greeted, up to where the session's process takes over.
struct Greeted {
  Purpose purpose = Purpose::monitor;
  std::uint8_t number = 0;  // as in Hello
  Identity identity{};      // of TLS under the session's key
};

struct Passed {
  Greeted greeted;
  Descriptor descriptor;
};

// False if the other process is gone.
bool pass_descriptor(int to, const Greeted& greeted, int descriptor);
// Waits; nothing once the other process is gone.
std::optional<Passed> receive_descriptor(int from);

}  // namespace gpucast::remote::server
