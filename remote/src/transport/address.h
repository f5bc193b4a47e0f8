// Where a server listens: "host:port", "[::1]:port" or "unix:/path".
#pragma once

#include <string>
#include <vector>

namespace gpucast::remote {

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

}  // namespace gpucast::remote
