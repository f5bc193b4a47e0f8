// SHA-256 (FIPS 180-4) and HMAC-SHA256 (FIPS 198-1).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace gpucast::remote {

using Digest = std::array<std::uint8_t, 32>;

class Sha256 {
 public:
  Sha256& add(std::span<const std::uint8_t> bytes);
  // Ends it.
  Digest digest();

 private:
  void block(const std::uint8_t* data);

  std::array<std::uint32_t, 8> state_ = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                         0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<std::uint8_t, 64> pending_{};
  std::size_t held_ = 0;
  std::uint64_t bytes_ = 0;
};

Digest hmac_sha256(std::span<const std::uint8_t> key, std::span<const std::uint8_t> message);

// In a time that does not depend on where they differ.
bool same(std::span<const std::uint8_t> first, std::span<const std::uint8_t> second);

}  // namespace gpucast::remote
