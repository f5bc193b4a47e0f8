#include "security/secret.h"

#include <sys/random.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <vector>

#include "security/hmac.h"

namespace gpucast::remote {

std::string read_secret(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  std::string secret((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  if (!in) throw std::runtime_error(file + ": cannot be read: " + std::strerror(errno));
  struct stat facts{};
  if (stat(file.c_str(), &facts) == 0 && (facts.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
    throw std::runtime_error(file + ": others may read the secret (chmod 600 " + file + ")");
  }
  while (!secret.empty() && std::strchr(" \t\r\n", secret.back()) != nullptr)
    secret.pop_back();
  constexpr std::size_t least = 16;
  if (secret.size() < least) {
    throw std::runtime_error(file + ": a secret has at least 16 bytes");
  }
  return secret;
}

void fill_random(std::span<std::uint8_t> bytes) {
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t got = getrandom(bytes.data() + done, bytes.size() - done, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) throw std::runtime_error("the system gives no random bytes");
    done += static_cast<std::size_t>(got);
  }
}

Mac prove(const std::string& secret, Side side, const Hello& hello, const Nonce& server,
          const Nonce& client) {
  if (secret.empty()) return {};
  std::vector<std::byte> said;
  Writer writer(said);
  writer(side), writer(hello), writer(server), writer(client);
  return hmac_sha256({reinterpret_cast<const std::uint8_t*>(secret.data()), secret.size()},
                     {reinterpret_cast<const std::uint8_t*>(said.data()), said.size()});
}

}  // namespace gpucast::remote
