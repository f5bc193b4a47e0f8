// The client's settings, from the environment:
//
//   GPUCAST_REMOTE               servers, in the order of their devices:
//                                host:port,unix:/path,...
//   GPUCAST_REMOTE_SECRET_FILE   the secret shared with them (default: the user's own, which
//                                servers of the same user on the same host have)
//   GPUCAST_REMOTE_PLAIN=1       no TLS, for servers that run without it
//   GPUCAST_REMOTE_TRANSPORT     auto (shared memory if the address is unix:/path and both sides
//                                support it), socket, or shared-memory, which fails without it
//   GPUCAST_REMOTE_SYNC=1        every call waits until the server has done it
//   GPUCAST_REMOTE_CHANNELS      connections for large copies, per server (default 4)
//   GPUCAST_REMOTE_SPIN_US       how long a thread polls for an answer, on a core of its own,
//                                before it sleeps (default 2000)
//   GPUCAST_REMOTE_COUNTERS      report at exit what each entry point used: `-`, a table on stderr;
//                                otherwise a file, which receives JSON Lines
//   GPUCAST_REMOTE_REACHED       an existing file, which receives a line once all are reached
//   GPUCAST_REMOTE_MIXED=allow   other libraries in the process may use this machine's GPUs
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

#include "client/handshake.h"
#include "protocol/limits.h"
#include "transport/sockets.h"

namespace gpucast::remote::client {

struct ClientSettings {
  std::vector<Endpoint> servers = {};
  Credentials credentials = {};
  bool synchronous = false;
  int bulk_connections = 4;
  std::size_t most_inline = inline_beside_channels;  // largest copy within its message, in bytes
  std::chrono::microseconds spin = usual_spin;
  // Bytes of GPU code that are loaded along with a kernel's, in advance of their use.
  std::uint64_t most_loaded_ahead = std::uint64_t{8} << 20;
  std::string counters = {};
  std::string reached = {};
};

// Throws std::runtime_error or std::invalid_argument with one line that names the variable.
ClientSettings read_client_settings();

// Keeps the program from using this machine's own GPUs: loads the guard driver (guard/libcuda.cpp)
// into the process, so that whoever opens libcuda.so.1 later gets that one, and ends the program if
// the machine's driver is loaded already. Does nothing if GPUCAST_REMOTE_MIXED=allow.
void keep_out_local_driver();

}  // namespace gpucast::remote::client
