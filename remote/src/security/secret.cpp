#include "security/secret.h"

#include <fcntl.h>
#include <openssl/crypto.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <set>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "gpucast/support/descriptor.h"
#include "security/key.h"
#include "security/own_file.h"

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

std::string read_bounded(const std::string& path) {
  const auto fail = [&] {
    throw std::runtime_error(path + ": cannot be read: " + std::strerror(errno));
  };
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat facts{};
  if (!file || ::fstat(file.get(), &facts) != 0) fail();
  std::string content(most_secret_bytes + 1, '\0');
  std::size_t size = 0;
  for (ssize_t got = 1; got != 0 && size < content.size();) {
    got = ::read(file.get(), content.data() + size, content.size() - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail();
    size += static_cast<std::size_t>(got);
  }
  if ((facts.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
    throw std::runtime_error(path + ": others may read the secret (chmod 600 " + path + ")");
  }
  if (size > most_secret_bytes) {
    throw std::runtime_error(path + ": is longer than a secret may be (4096 bytes)");
  }
  content.resize(size);
  return content;
}

// The shortest beginning that the text consists of, again and again (the last may be cut off).
std::size_t period_of(std::string_view text) {
  for (std::size_t period = 1; period < text.size(); ++period) {
    if (text.substr(period) == text.substr(0, text.size() - period)) return period;
  }
  return text.size();
}

// "0123...", "aabbcc...", "zyx...": most bytes are at most one away from the one before.
bool is_row_of_neighbours(std::string_view text) {
  std::size_t near = 0;
  for (std::size_t k = 1; k < text.size(); ++k)
    near += std::abs(text[k] - text[k - 1]) <= 1 ? 1 : 0;
  return near > text.size() / 2;
}

// Four of ten million secrets of 16 random hexadecimal digits have fewer.
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

std::span<const std::uint8_t> bytes_of(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

SecretKeys keys_of(const Text& content, const std::string& file) {
  const std::string_view text = content.trimmed();
  if (const std::string weakness = weakness_of(text); !weakness.empty()) {
    throw std::runtime_error(file + ": " + weakness +
                             "; make one: head -c 32 /dev/urandom | base64 >" + file);
  }
  const auto salt = bytes_of("gpucast remote");
  return {.tls = derive_key(bytes_of(text), salt, "TLS 1.3"),
          .plain = derive_key(bytes_of(text), salt, "plain"),
          .file = file};
}

SecretKeys own(SecretKeys keys) {
  keys.is_own = true;
  return keys;
}

std::string random_text() {
  Key key;
  fill_random(key.bytes());
  std::string result;
  for (const unsigned byte : key.bytes()) {
    result += "0123456789abcdef"[byte / 16];
    result += "0123456789abcdef"[byte % 16];
  }
  return result + "\n";
}

}  // namespace

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
  std::vector<std::byte> said;
  Writer writer(said);
  writer(side), writer(hello), writer(server), writer(client);
  return hmac_sha256(key.bytes(),
                     {reinterpret_cast<const std::uint8_t*>(said.data()), said.size()});
}

}  // namespace gpucast::remote
