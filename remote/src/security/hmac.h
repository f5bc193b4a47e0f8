// HMAC-SHA256 (FIPS 198-1), by OpenSSL's libcrypto.
//
// It is linked statically, with its symbols hidden: the client is loaded into any program under the
// CUDA runtime's name, and that program may have a libcrypto of its own, of another version.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace gpucast::remote {

using Digest = std::array<std::uint8_t, 32>;

// std::runtime_error where libcrypto fails, for want of memory.
Digest hmac_sha256(std::span<const std::uint8_t> key, std::span<const std::uint8_t> message);

// FIPS 180-4; as above where it fails.
Digest sha256(std::span<const std::byte> message);

// In a time that does not depend on where they differ.
bool same(std::span<const std::uint8_t> first, std::span<const std::uint8_t> second);

}  // namespace gpucast::remote
