// A key of 32 bytes that is wiped from memory, derived keys, and HMAC-SHA256, by OpenSSL's
// libcrypto. It is linked statically, with hidden symbols: the client is loaded into any program
// under the CUDA runtime's name, and that program may have a libcrypto of another version.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace gpucast::remote {

using Digest = std::array<std::uint8_t, 32>;

// Views a text or another contiguous range as bytes.
template <class Row>
std::span<const std::uint8_t> octets(const Row& row) {
  const auto bytes = std::as_bytes(std::span(row));
  return {reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()};
}
// Returns the digits in lower case.
std::string hex(std::span<const std::uint8_t> bytes);

// FIPS 198-1; throws std::runtime_error if libcrypto is out of memory.
Digest hmac_sha256(std::span<const std::uint8_t> key, std::span<const std::uint8_t> message);

// FIPS 180-4; throws the same.
Digest sha256(std::span<const std::byte> message);

// Compares in a time that does not depend on the first difference.
bool same(std::span<const std::uint8_t> first, std::span<const std::uint8_t> second);

class Key {
 public:
  static constexpr std::size_t size = 32;

  Key() = default;  // all bytes are zero
  // Throws std::invalid_argument if the number of bytes is wrong.
  explicit Key(std::span<const std::uint8_t> bytes);
  ~Key() { wipe(); }
  Key(const Key&) = default;
  Key& operator=(const Key&) = default;
  // The moved-from key is wiped.
  Key(Key&&) noexcept = default;
  Key& operator=(Key&&) noexcept = default;

  std::span<const std::uint8_t> bytes() const { return bytes_; }
  std::span<std::uint8_t> bytes() { return bytes_; }
  // Writes zeros; the compiler cannot remove this.
  void wipe() noexcept;

 private:
  std::array<std::uint8_t, size> bytes_{};
};

// HKDF-SHA256 (RFC 5869): a different key for each purpose, none of which reveals another. The
// material is hashed as a message, so that appended zeros change the result.
Key derive_key(std::span<const std::uint8_t> material, std::span<const std::uint8_t> salt,
               std::string_view purpose);

// Fills the bytes from the system's random generator.
void fill_random(std::span<std::uint8_t> bytes);

}  // namespace gpucast::remote
