// A key of 32 bytes that leaves nothing behind in memory, keys made of others, and HMAC-SHA256, by
// OpenSSL's libcrypto. It is linked statically, with its symbols hidden: the client is loaded into
// any program under the CUDA runtime's name, and that program may have a libcrypto of its own, of
// another version.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace gpucast::remote {

using Digest = std::array<std::uint8_t, 32>;

// Text, or whatever else lies in a row, as bytes are wanted here.
template <class Row>
std::span<const std::uint8_t> octets(const Row& row) {
  const auto bytes = std::as_bytes(std::span(row));
  return {reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()};
}
// In lower case.
std::string hex(std::span<const std::uint8_t> bytes);

// FIPS 198-1; std::runtime_error where libcrypto fails, for want of memory.
Digest hmac_sha256(std::span<const std::uint8_t> key, std::span<const std::uint8_t> message);

// FIPS 180-4; as above where it fails.
Digest sha256(std::span<const std::byte> message);

// In a time that does not depend on where they differ.
bool same(std::span<const std::uint8_t> first, std::span<const std::uint8_t> second);

class Key {
 public:
  static constexpr std::size_t size = 32;

  Key() = default;  // zeros
  // std::invalid_argument where it has not that many bytes.
  explicit Key(std::span<const std::uint8_t> bytes);
  ~Key() { wipe(); }
  Key(const Key&) = default;
  Key& operator=(const Key&) = default;
  // What is left behind is wiped with it.
  Key(Key&&) noexcept = default;
  Key& operator=(Key&&) noexcept = default;

  std::span<const std::uint8_t> bytes() const { return bytes_; }
  std::span<std::uint8_t> bytes() { return bytes_; }
  // Writes zeros, which no compiler leaves out.
  void wipe() noexcept;

 private:
  std::array<std::uint8_t, size> bytes_{};
};

// HKDF-SHA256 (RFC 5869): another key for each purpose, of which none tells the others. The
// material is hashed as a message: one that is followed by zeros is another one.
Key derive_key(std::span<const std::uint8_t> material, std::span<const std::uint8_t> salt,
               std::string_view purpose);

// Fills them from the system's random generator.
void fill_random(std::span<std::uint8_t> bytes);

}  // namespace gpucast::remote
