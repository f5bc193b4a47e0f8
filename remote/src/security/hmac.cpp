#include "security/hmac.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <stdexcept>

namespace gpucast::remote {

Digest hmac_sha256(std::span<const std::uint8_t> key, std::span<const std::uint8_t> message) {
  // Without a handler at exit: other threads may connect while the program ends. Without the
  // system's configuration, which could name modules that are none of ours.
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

}  // namespace gpucast::remote
