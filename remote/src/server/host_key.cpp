#include "server/host_key.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <stdexcept>

#include "gpucast/support/descriptor.h"
#include "security/secret.h"

namespace gpucast::remote::server {
namespace {

using support::Descriptor;
using Content = std::array<std::uint8_t, 32>;

constexpr mode_t others = S_IRWXG | S_IRWXO;

[[noreturn]] void fail(const std::string& what) {
  throw std::runtime_error(what + ": " + std::strerror(errno));
}

// Not by way of a link: who makes one chooses where it leads.
bool is_own_folder(const std::string& path) {
  struct stat facts{};
  return lstat(path.c_str(), &facts) == 0 && S_ISDIR(facts.st_mode) && facts.st_uid == geteuid() &&
         (facts.st_mode & others) == 0;
}

// Batch systems leave XDG_RUNTIME_DIR as it was on another node, and sudo that of another user.
std::string own_folder() {
  const char* runtime = std::getenv("XDG_RUNTIME_DIR");
  if (runtime != nullptr && is_own_folder(runtime)) return runtime;
  std::string path = "/tmp/gpucast-" + std::to_string(geteuid());
  if (mkdir(path.c_str(), S_IRWXU) != 0 && errno != EEXIST) fail(path);
  if (!is_own_folder(path))
    throw std::runtime_error(path + ": is not a folder that only this user may enter");
  return path;
}

// False if there is none.
bool read(const std::string& path, Content& content) {
  const Descriptor file(open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
  if (!file && errno == ENOENT) return false;
  struct stat facts{};
  if (!file || fstat(file.get(), &facts) != 0) fail(path);
  if (!S_ISREG(facts.st_mode) || facts.st_uid != geteuid() || (facts.st_mode & others) != 0)
    throw std::runtime_error(path + ": is not a file that only this user may read");
  if (::read(file.get(), content.data(), content.size()) != static_cast<ssize_t>(content.size()))
    throw std::runtime_error(path + ": is too short");
  return true;
}

// Whole or not at all, and by the first who comes: a name is given to what is written already.
void make(const std::string& path) {
  Content content{};
  fill_random(content);
  std::string beside = path + ".XXXXXX";
  const Descriptor file(mkostemp(beside.data(), O_CLOEXEC));
  if (!file) fail(beside);
  const bool written =
      write(file.get(), content.data(), content.size()) == static_cast<ssize_t>(content.size());
  const bool named = written && (link(beside.c_str(), path.c_str()) == 0 || errno == EEXIST);
  const int why = errno;
  unlink(beside.c_str());
  errno = why;
  if (!named) fail(path);
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
  const std::string path = own_folder() + "/gpucast-host-key";
  Content content{};
  if (!read(path, content)) {
    make(path);
    if (!read(path, content)) throw std::runtime_error(path + ": is removed again and again");
  }
  // A folder that several hosts have in common does not make them one.
  key_ = hmac_sha256(content, bytes_of(boot()));
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
