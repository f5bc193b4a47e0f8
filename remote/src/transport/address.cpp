#include "transport/address.h"

#include <charconv>
#include <stdexcept>

namespace gpucast::remote {
namespace {

std::string without_blanks(const std::string& text) {
  constexpr const char* blanks = " \t\r\n";
  const std::size_t begin = text.find_first_not_of(blanks);
  if (begin == std::string::npos) return "";
  return text.substr(begin, text.find_last_not_of(blanks) - begin + 1);
}

}  // namespace

std::string Endpoint::text() const {
  if (is_unix()) return "unix:" + path;
  const bool colons = host.find(':') != std::string::npos;
  return (colons ? "[" + host + "]" : host) + ":" + port;
}

Endpoint parse_endpoint(const std::string& text) {
  const std::string prefix = "unix:";
  if (text.starts_with(prefix)) {
    constexpr std::size_t longest = 107;  // of sockaddr_un, less its end
    const std::string path = text.substr(prefix.size());
    if (path.empty() || path.size() > longest) {
      throw std::invalid_argument("'" + text + "': a path of 1 to 107 characters follows unix:");
    }
    return {.host = "", .port = "", .path = path};
  }
  const std::size_t colon = text.rfind(':');
  std::string host = colon == std::string::npos ? "" : text.substr(0, colon);
  if (host.size() > 1 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
  } else if (host.find(':') != std::string::npos) {
    host.clear();  // an IPv6 address without brackets could hold the port
  }
  unsigned port = 0;
  const char* end = text.data() + text.size();
  const char* begin = colon == std::string::npos ? end : text.data() + colon + 1;
  const auto parsed = std::from_chars(begin, end, port);
  constexpr unsigned most = 65535;
  if (host.empty() || parsed.ec != std::errc() || parsed.ptr != end || begin == end ||
      port > most) {
    throw std::invalid_argument("'" + text + "' is no address: host:port or unix:/path is");
  }
  return {.host = host, .port = std::to_string(port), .path = ""};
}

std::vector<Endpoint> parse_endpoints(const std::string& text) {
  std::vector<Endpoint> result;
  std::size_t begin = 0;
  for (;;) {
    const std::size_t comma = text.find(',', begin);
    result.push_back(parse_endpoint(without_blanks(text.substr(begin, comma - begin))));
    if (comma == std::string::npos) return result;
    begin = comma + 1;
  }
}

}  // namespace gpucast::remote
