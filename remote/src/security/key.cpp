#include "security/key.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <unistd.h>

#include <algorithm>
#include <stdexcept>
#include <vector>

namespace gpucast::remote {

Digest hmac_sha256(std::span<const std::uint8_t> key, std::span<const std::uint8_t> message) {
  // No handler runs at exit: other threads may connect while the program ends. The system's
  // configuration, which could load foreign modules, is not read.
  OPENSSL_init_crypto(OPENSSL_INIT_NO_ATEXIT | OPENSSL_INIT_NO_LOAD_CONFIG, nullptr);
  Digest result{};
  if (HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), message.data(), message.size(),
           result.data(), nullptr) == nullptr) {
    throw std::runtime_error("libcrypto computes no HMAC-SHA256");
  }
  return result;
}

Digest sha256(std::span<const std::byte> message) {
  OPENSSL_init_crypto(OPENSSL_INIT_NO_ATEXIT | OPENSSL_INIT_NO_LOAD_CONFIG, nullptr);
  Digest result{};
  if (EVP_Digest(message.data(), message.size(), result.data(), nullptr, EVP_sha256(), nullptr) !=
      1) {
    throw std::runtime_error("libcrypto computes no SHA-256");
  }
  return result;
}

bool same(std::span<const std::uint8_t> first, std::span<const std::uint8_t> second) {
  return first.size() == second.size() &&
         CRYPTO_memcmp(first.data(), second.data(), first.size()) == 0;
}

Key::Key(std::span<const std::uint8_t> bytes) {
  if (bytes.size() != size) throw std::invalid_argument("a key has 32 bytes");
  std::ranges::copy(bytes, bytes_.begin());
}

void Key::wipe() noexcept { OPENSSL_cleanse(bytes_.data(), bytes_.size()); }

// HKDF: extract, then the first block of expand, which is as long as the key.
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
  if (::getentropy(bytes.data(), bytes.size()) != 0)
    throw std::runtime_error("the system gives no random bytes");
}

std::string hex(std::span<const std::uint8_t> bytes) {
  std::string result;
  for (const unsigned byte : bytes) {
    result += "0123456789abcdef"[byte / 16];
    result += "0123456789abcdef"[byte % 16];
  }
  return result;
}

}  // namespace gpucast::remote
