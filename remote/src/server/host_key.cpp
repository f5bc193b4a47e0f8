#include "server/host_key.h"

#include <fstream>
#include <iterator>
#include <stdexcept>

#include "security/key.h"
#include "security/own_file.h"

namespace gpucast::remote::server {
namespace {

std::string random_content() {
  Key key;
  fill_random(key.bytes());
  return {key.bytes().begin(), key.bytes().end()};
}

std::span<const std::uint8_t> bytes_of(const std::string& text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

// The id that the system gave this host's present boot.
std::string boot() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

}  // namespace

HostKey::HostKey() {
  const std::string path = own_file_path("gpucast-host-key");
  const std::string content = read_or_make_own_file(path, random_content);
  if (content.size() < Key::size) throw std::runtime_error(path + ": is too short");
  // A folder that several hosts have in common does not make them one.
  key_ = hmac_sha256(bytes_of(content).first(Key::size), bytes_of(boot()));
}

std::string HostKey::id() const {
  constexpr std::size_t bytes = 16;
  const Digest digest = sign(bytes_of("the key's id"));
  std::string result;
  for (const unsigned byte : std::span(digest).first(bytes)) {
    result += "0123456789abcdef"[byte / 16];
    result += "0123456789abcdef"[byte % 16];
  }
  return result;
}

Digest HostKey::sign(std::span<const std::uint8_t> message) const {
  return hmac_sha256(key_, message);
}

}  // namespace gpucast::remote::server
