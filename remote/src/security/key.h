// A key of 32 bytes that leaves nothing behind in memory, and keys made of others.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace gpucast::remote {

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
