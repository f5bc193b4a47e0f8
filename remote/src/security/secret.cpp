#include "security/secret.h"

#include <fcntl.h>
#include <openssl/crypto.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <set>

#include "gpucast/support/descriptor.h"

namespace gpucast::remote {
namespace {

using support::Descriptor;

constexpr std::size_t least_secret_bytes = 16;
constexpr std::size_t most_secret_bytes = 4096;
constexpr const char* own_name = "gpucast-secret";

class Text {
 public:
  explicit Text(std::string text) : text_(std::move(text)) {}
  ~Text() { OPENSSL_cleanse(text_.data(), text_.size()); }
  Text(const Text&) = delete;
  Text& operator=(const Text&) = delete;
  std::string_view trimmed() const {
    const std::string_view all(text_);
    return all.substr(0, all.find_last_not_of(" \t\r\n") + 1);
  }

 private:
  std::string text_;
};

constexpr mode_t others = S_IRWXG | S_IRWXO;

[[noreturn]] void fail(const std::string& what) {
  throw std::runtime_error(what + ": " + std::strerror(errno));
}

// Links are not followed: whoever makes one decides where it leads.
bool is_own_folder(const std::string& path) {
  struct stat facts{};
  return lstat(path.c_str(), &facts) == 0 && S_ISDIR(facts.st_mode) && facts.st_uid == geteuid() &&
         (facts.st_mode & others) == 0;
}

void require_own_folder(const std::string& path) {
  if (!is_own_folder(path))
    throw std::runtime_error(path + ": is not a folder that only this user may enter");
}

// Writes a temporary file and then gives it the name, so that no reader finds a part of it.
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

std::string read_bounded(const std::string& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat facts{};
  if (!file || ::fstat(file.get(), &facts) != 0) fail(path + ": cannot be read");
  std::string content(most_secret_bytes + 1, '\0');
  std::size_t size = 0;
  for (ssize_t got = 1; got != 0 && size < content.size();) {
    got = ::read(file.get(), content.data() + size, content.size() - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail(path + ": cannot be read");
    size += static_cast<std::size_t>(got);
  }
  if ((facts.st_mode & others) != 0)
    throw std::runtime_error(path + ": others may read the secret (chmod 600 " + path + ")");
  if (size > most_secret_bytes)
    throw std::runtime_error(path + ": is longer than a secret may be (4096 bytes)");
  content.resize(size);
  return content;
}

// Returns the length of the shortest beginning that the text repeats (the last repetition may be
// cut).
std::size_t period_of(std::string_view text) {
  for (std::size_t period = 1; period < text.size(); ++period)
    if (text.substr(period) == text.substr(0, text.size() - period)) return period;
  return text.size();
}

// Finds "0123...", "aabbcc...", "zyx...": most bytes differ from their predecessor by at most one.
bool is_row_of_neighbours(std::string_view text) {
  std::size_t near = 0;
  for (std::size_t k = 1; k < text.size(); ++k)
    near += std::abs(text[k] - text[k - 1]) <= 1 ? 1 : 0;
  return near > text.size() / 2;
}

// Four of ten million random secrets of 16 hexadecimal digits have fewer different ones.
constexpr std::size_t least_different = 5;

bool repeats_itself(std::string_view text) {
  const std::size_t period = period_of(text);
  return period < least_secret_bytes && period <= text.size() / 2;
}

std::string weakness_of(std::string_view text) {
  if (text.size() < least_secret_bytes) return "a secret has at least 16 bytes";
  if (text.find('\0') != std::string_view::npos) return "a secret holds no NUL bytes";
  if (std::set<char>(text.begin(), text.end()).size() < least_different || repeats_itself(text) ||
      is_row_of_neighbours(text)) {
    return "a secret of so little variety can be guessed";
  }
  return "";
}

SecretKeys keys_of(const Text& content, const std::string& file) {
  const std::string_view text = content.trimmed();
  if (const std::string weakness = weakness_of(text); !weakness.empty()) {
    throw std::runtime_error(file + ": " + weakness +
                             "; make one: head -c 32 /dev/urandom | base64 >" + file);
  }
  const auto salt = octets(std::string_view("gpucast remote"));
  return {.tls = derive_key(octets(text), salt, "TLS 1.3"),
          .plain = derive_key(octets(text), salt, "plain"),
          .file = file};
}

SecretKeys own(SecretKeys keys) {
  keys.is_own = true;
  return keys;
}

std::string random_text() {
  Key key;
  fill_random(key.bytes());
  return hex(key.bytes()) + "\n";
}

}  // namespace

// Batch systems leave XDG_RUNTIME_DIR with the value of another node, and sudo with another user's.
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
  std::string content(most_secret_bytes, '\0');
  const ssize_t got = ::read(file.get(), content.data(), content.size());
  if (got < 0) fail(path);
  content.resize(static_cast<std::size_t>(got));
  return content;
}

std::string read_or_make_own_file(const std::string& path,
                                  const std::function<std::string()>& content) {
  if (auto known = read_own_file(path)) return *known;
  make(path, content());
  if (auto made = read_own_file(path)) return *made;
  throw std::runtime_error(path + ": is removed again and again");
}

SecretKeys read_secret(const std::string& file) { return keys_of(Text(read_bounded(file)), file); }

SecretKeys make_own_secret() {
  const std::string file = own_file_path(own_name);
  return own(keys_of(Text(read_or_make_own_file(file, random_text)), file));
}

std::optional<SecretKeys> find_own_secret() {
  const std::string file = own_file_path(own_name);
  auto content = read_own_file(file);
  if (!content) return std::nullopt;
  return own(keys_of(Text(std::move(*content)), file));
}

Mac prove(const Key& key, Side side, const Hello& hello, const Nonce& server, const Nonce& client) {
  return hmac_sha256(key.bytes(), octets(packed(side, hello, server, client)));
}

}  // namespace gpucast::remote
