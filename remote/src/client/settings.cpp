#include "client/settings.h"

#include <charconv>
#include <cstdlib>
#include <limits>
#include <system_error>
#include <thread>

#include "transport/carriers.h"

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

std::optional<Carrier> carrier() {
  const std::string text = variable("GPUCAST_REMOTE_TRANSPORT");
  if (text.empty() || text == "auto") return std::nullopt;
  if (text == "socket") return Carrier::socket;
  std::string names = "auto, socket";
  for (const CarrierKind& kind : carriers()) {
    if (text == kind.name) return kind.number;
    names += std::string(", ") + kind.name;
  }
  throw std::invalid_argument("GPUCAST_REMOTE_TRANSPORT=" + text + ": " + names + " are allowed");
}

}  // namespace

ClientSettings read_client_settings() {
  ClientSettings result;
  const std::string servers = variable("GPUCAST_REMOTE");
  if (servers.empty())
    throw std::invalid_argument("GPUCAST_REMOTE names no servers (host:port,...)");
  try {
    result.servers = parse_endpoints(servers);
  } catch (const std::invalid_argument& error) {
    throw std::invalid_argument(std::string("GPUCAST_REMOTE: ") + error.what());
  }
  if (number("GPUCAST_REMOTE_PLAIN", 0, 0, 1) == 1) result.credentials.security = Security::plain;
  const auto file = variable("GPUCAST_REMOTE_SECRET_FILE");
  result.credentials.secret = file.empty() ? find_own_secret() : read_secret(file);
  result.credentials.carrier = carrier();
  result.synchronous = number("GPUCAST_REMOTE_SYNC", 0, 0, 1) == 1;
  const unsigned cores = std::thread::hardware_concurrency();
  result.bulk_connections =
      number("GPUCAST_REMOTE_CHANNELS", usual_bulk_connections(cores), 1, most_bulk_connections);
  constexpr int kibibyte = 1024;
  result.most_inline =
      kibibyte * static_cast<std::size_t>(number("GPUCAST_REMOTE_INLINE_KIB",
                                                 static_cast<int>(usual_inline(cores) / kibibyte),
                                                 0, static_cast<int>(most_inline / kibibyte)));
  constexpr int second = 1'000'000;
  result.spin = std::chrono::microseconds(
      number("GPUCAST_REMOTE_SPIN_US", static_cast<int>(result.spin.count()), 0, second));
  // As with a local GPU: all code is loaded before the first kernel runs.
  if (variable("CUDA_MODULE_LOADING") == "EAGER")
    result.most_loaded_ahead = std::numeric_limits<std::uint64_t>::max();
  result.counters = variable("GPUCAST_REMOTE_COUNTERS");
  result.reached = variable("GPUCAST_REMOTE_REACHED");
  return result;
}

}  // namespace gpucast::remote::client
