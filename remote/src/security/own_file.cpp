#include "security/own_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

#include "gpucast/support/descriptor.h"

namespace gpucast::remote {
namespace {

using support::Descriptor;

constexpr mode_t others = S_IRWXG | S_IRWXO;
constexpr std::size_t most_own_bytes = 4096;

[[noreturn]] void fail(const std::string& what) {
  throw std::runtime_error(what + ": " + std::strerror(errno));
}

// Not by way of a link: who makes one chooses where it leads.
bool is_own_folder(const std::string& path) {
  struct stat facts{};
  return lstat(path.c_str(), &facts) == 0 && S_ISDIR(facts.st_mode) && facts.st_uid == geteuid() &&
         (facts.st_mode & others) == 0;
}

void require_own_folder(const std::string& path) {
  if (!is_own_folder(path))
    throw std::runtime_error(path + ": is not a folder that only this user may enter");
}

// A name is given to what is written already.
void make(const std::string& path, const std::string& content) {
  const std::string folder = path.substr(0, path.rfind('/'));
  if (mkdir(folder.c_str(), S_IRWXU) != 0 && errno != EEXIST) fail(folder);
  require_own_folder(folder);
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

}  // namespace

// Batch systems leave XDG_RUNTIME_DIR as it was on another node, and sudo that of another user.
std::string own_file_path(const std::string& name) {
  const char* runtime = std::getenv("XDG_RUNTIME_DIR");
  if (runtime != nullptr && is_own_folder(runtime)) return std::string(runtime) + "/" + name;
  const std::string folder = "/tmp/gpucast-" + std::to_string(geteuid());
  if (access(folder.c_str(), F_OK) == 0) require_own_folder(folder);
  return folder + "/" + name;
}

std::optional<std::string> read_own_file(const std::string& path) {
  const Descriptor file(open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
  if (!file && errno == ENOENT) return std::nullopt;
  struct stat facts{};
  if (!file || fstat(file.get(), &facts) != 0) fail(path);
  if (!S_ISREG(facts.st_mode) || facts.st_uid != geteuid() || (facts.st_mode & others) != 0)
    throw std::runtime_error(path + ": is not a file that only this user may read");
  std::string content(most_own_bytes, '\0');
  const ssize_t got = ::read(file.get(), content.data(), content.size());
  if (got < 0) fail(path);
  content.resize(static_cast<std::size_t>(got));
  return content;
}

std::string read_or_make_own_file(const std::string& path,
                                  const std::function<std::string()>& content) {
  if (auto found = read_own_file(path)) return *found;
  make(path, content());
  if (auto found = read_own_file(path)) return *found;
  throw std::runtime_error(path + ": is removed again and again");
}

}  // namespace gpucast::remote
