// What the environment tells the client:
//
//   GPUCAST_REMOTE               servers, in the order of their devices: host:port,unix:/path,...
//   GPUCAST_REMOTE_SECRET_FILE   the secret shared with them (default: the user's own, which
//   servers
//                                of the same user on the same host have)
//   GPUCAST_REMOTE_PLAIN=1       without TLS, with servers that speak so
//   GPUCAST_REMOTE_SYNC=1        every call waits until the server has done it
//   GPUCAST_REMOTE_CHANNELS      connections for large copies, for each server (default 4)
//   GPUCAST_REMOTE_SPIN_US       so long a thread looks for an answer, on a core of its own, before
//                                it sleeps (default 2000)
//   GPUCAST_REMOTE_COUNTERS      at exit, what each entry point cost: `-`, a table on stderr; else
//                                a file, which gets JSON Lines
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "client/handshake.h"
#include "protocol/limits.h"
#include "transport/address.h"

namespace gpucast::remote::client {

struct ClientSettings {
  std::vector<Endpoint> servers = {};
  Credentials credentials = {};
  bool synchronous = false;
  int bulk_connections = 4;
  std::chrono::microseconds spin = usual_spin;
  std::string counters = {};
};

// std::runtime_error or std::invalid_argument with one line that names the variable.
ClientSettings read_client_settings();

}  // namespace gpucast::remote::client
