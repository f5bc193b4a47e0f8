#include "security/key.h"

#include <openssl/crypto.h>
#include <sys/random.h>

#include <algorithm>
#include <cerrno>
#include <stdexcept>
#include <vector>

#include "security/hmac.h"

namespace gpucast::remote {

Key::Key(std::span<const std::uint8_t> bytes) {
  if (bytes.size() != size) throw std::invalid_argument("a key has 32 bytes");
  std::ranges::copy(bytes, bytes_.begin());
}

void Key::wipe() noexcept { OPENSSL_cleanse(bytes_.data(), bytes_.size()); }

// Extract, then the first block of expand, which is as long as the key.
Key derive_key(std::span<const std::uint8_t> material, std::span<const std::uint8_t> salt,
               std::string_view purpose) {
  Digest extracted = hmac_sha256(salt, material);
  std::vector<std::uint8_t> block(purpose.begin(), purpose.end());
  block.push_back(1);
  Digest expanded = hmac_sha256(extracted, block);
  Key result(expanded);
  OPENSSL_cleanse(extracted.data(), extracted.size());
  OPENSSL_cleanse(expanded.data(), expanded.size());
  return result;
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

}  // namespace gpucast::remote
