// TCP and Unix sockets, and their addresses.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "gpucast/support/descriptor.h"
#include "transport/connection.h"

namespace gpucast::remote {

// A server's address: "host:port", "[::1]:port" or "unix:/path".
struct Endpoint {
  std::string host = {};  // of TCP
  std::string port = {};
  std::string path = {};  // of a Unix socket; empty for TCP

  bool is_unix() const { return !path.empty(); }
  std::string text() const;
};

// Throws std::invalid_argument with one line that gives the reason.
Endpoint parse_endpoint(const std::string& text);
// The addresses are separated by commas; at least one is needed.
std::vector<Endpoint> parse_endpoints(const std::string& text);

// Takes over a connected socket of either kind.
std::unique_ptr<Connection> adopt_descriptor(int descriptor);

// For TCP: sends small messages at once, and notices a vanished peer.
void tune_tcp(int descriptor);

// For TCP: ends the connection if sent data is not acknowledged for this time, in which case the
// system does not probe the peer.
void limit_silence(int descriptor, std::chrono::milliseconds most);

// Returns another descriptor of the connection's socket; none if it has no socket.
support::Descriptor socket_of(Connection& connection);
bool is_unix_socket(int descriptor);

// Throws ConnectionLost with one line if nobody listens or the deadline passes. The name look-up
// may take longer.
std::unique_ptr<Connection> connect_to(const Endpoint& endpoint, const Deadline& deadline);

}  // namespace gpucast::remote
