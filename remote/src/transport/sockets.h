// TCP and Unix sockets, and their addresses.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "gpucast/support/descriptor.h"
#include "transport/connection.h"

namespace gpucast::remote {

// Where a server listens: "host:port", "[::1]:port" or "unix:/path".
struct Endpoint {
  std::string host = {};  // of TCP
  std::string port = {};
  std::string path = {};  // of a Unix socket; empty for TCP

  bool is_unix() const { return !path.empty(); }
  std::string text() const;
};

// std::invalid_argument with one line that says what is wrong.
Endpoint parse_endpoint(const std::string& text);
// Separated by commas; at least one.
std::vector<Endpoint> parse_endpoints(const std::string& text);

// Takes over a socket that is connected, of either kind.
std::unique_ptr<Connection> adopt_descriptor(int descriptor);

// Where it is TCP: small messages go at once, and a peer that vanished is noticed.
void tune_tcp(int descriptor);

// Where it is TCP: the connection is over once something that was sent has not been acknowledged
// for so long, which keeps the system from asking whether the peer is there.
void limit_silence(int descriptor, std::chrono::milliseconds most);

// Another descriptor of the socket that the connection is; none where it is none.
support::Descriptor socket_of(Connection& connection);
bool is_unix_socket(int descriptor);

// ConnectionLost with one line where nobody listens or the deadline passes. Looking the name up may
// take longer.
std::unique_ptr<Connection> connect_to(const Endpoint& endpoint, const Deadline& deadline);

}  // namespace gpucast::remote
