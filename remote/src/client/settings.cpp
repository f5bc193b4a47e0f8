#include "client/settings.h"

#include <charconv>
#include <cstdlib>
#include <stdexcept>
#include <system_error>

#include "security/secret.h"

namespace gpucast::remote::client {
namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

int number(const char* name, int otherwise, int least, int most) {
  const std::string text = variable(name);
  if (text.empty()) return otherwise;
  int result = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), result);
  if (parsed.ec != std::errc() || parsed.ptr != text.data() + text.size() || result < least ||
      result > most) {
    throw std::invalid_argument(std::string(name) + "=" + text + ": a number from " +
                                std::to_string(least) + " to " + std::to_string(most) +
                                " is allowed");
  }
  return result;
}

}  // namespace

ClientSettings read_client_settings() {
  ClientSettings result;
  const std::string servers = variable("GPUCAST_REMOTE");
  if (servers.empty()) {
    throw std::invalid_argument("GPUCAST_REMOTE names no servers (host:port,...)");
  }
  try {
    result.servers = parse_endpoints(servers);
  } catch (const std::invalid_argument& error) {
    throw std::invalid_argument(std::string("GPUCAST_REMOTE: ") + error.what());
  }
  if (number("GPUCAST_REMOTE_PLAIN", 0, 0, 1) == 1) result.credentials.security = Security::plain;
  const auto file = variable("GPUCAST_REMOTE_SECRET_FILE");
  result.credentials.secret = file.empty() ? find_own_secret() : read_secret(file);
  result.synchronous = number("GPUCAST_REMOTE_SYNC", 0, 0, 1) == 1;
  result.bulk_connections =
      number("GPUCAST_REMOTE_CHANNELS", result.bulk_connections, 1, most_bulk_connections);
  constexpr int second = 1'000'000;
  result.spin = std::chrono::microseconds(
      number("GPUCAST_REMOTE_SPIN_US", static_cast<int>(result.spin.count()), 0, second));
  result.counters = variable("GPUCAST_REMOTE_COUNTERS");
  return result;
}

}  // namespace gpucast::remote::client
