// Open connections, passed from the process that accepts them to the one that serves them.
#pragma once

#include <optional>

#include "gpucast/support/descriptor.h"
#include "protocol/handshake.h"

namespace gpucast::remote::server {

using support::Descriptor;

struct Passed {
  Purpose purpose = Purpose::monitor;
  Descriptor descriptor;
};

// False if the other process is gone.
bool pass_descriptor(int to, Purpose purpose, int descriptor);
// Waits; nothing once the other process is gone.
std::optional<Passed> receive_descriptor(int from);

}  // namespace gpucast::remote::server
