#include "security/sha256.h"

#include <algorithm>
#include <bit>
#include <vector>

namespace gpucast::remote {
namespace {

// The first 32 bits of the fractions of the cube roots of the first 64 primes.
constexpr std::array<std::uint32_t, 64> constants = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

constexpr std::size_t block_bytes = 64;

std::uint32_t big_endian(const std::uint8_t* bytes) {
  return std::uint32_t{bytes[0]} << 24 | std::uint32_t{bytes[1]} << 16 |
         std::uint32_t{bytes[2]} << 8 | std::uint32_t{bytes[3]};
}

}  // namespace

Sha256& Sha256::add(std::span<const std::uint8_t> bytes) {
  bytes_ += bytes.size();
  while (!bytes.empty()) {
    const std::size_t part = std::min(block_bytes - held_, bytes.size());
    std::copy_n(bytes.data(), part, pending_.data() + held_);
    held_ += part;
    bytes = bytes.subspan(part);
    if (held_ == block_bytes) {
      block(pending_.data());
      held_ = 0;
    }
  }
  return *this;
}

// A bit 1, zeros, and the length in bits fill the last block.
Digest Sha256::digest() {
  const std::uint64_t bits = bytes_ * 8;
  const std::uint8_t one = 0x80;
  const std::uint8_t zero = 0;
  add({&one, 1});
  while (held_ != block_bytes - sizeof bits)
    add({&zero, 1});
  std::array<std::uint8_t, sizeof bits> length{};
  for (std::size_t k = 0; k < length.size(); ++k)
    length[k] = static_cast<std::uint8_t>(bits >> (8 * (length.size() - 1 - k)));
  add(length);
  Digest result{};
  for (std::size_t k = 0; k < result.size(); ++k)
    result[k] = static_cast<std::uint8_t>(state_[k / 4] >> (8 * (3 - k % 4)));
  return result;
}

void Sha256::block(const std::uint8_t* data) {
  std::array<std::uint32_t, 64> w{};
  for (std::size_t t = 0; t < 16; ++t)
    w[t] = big_endian(data + 4 * t);
  for (std::size_t t = 16; t < 64; ++t) {
    const std::uint32_t s0 = std::rotr(w[t - 15], 7) ^ std::rotr(w[t - 15], 18) ^ (w[t - 15] >> 3);
    const std::uint32_t s1 = std::rotr(w[t - 2], 17) ^ std::rotr(w[t - 2], 19) ^ (w[t - 2] >> 10);
    w[t] = w[t - 16] + s0 + w[t - 7] + s1;
  }
  auto [a, b, c, d, e, f, g, h] = state_;
  for (std::size_t t = 0; t < 64; ++t) {
    const std::uint32_t s1 = std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25);
    const std::uint32_t t1 = h + s1 + ((e & f) ^ (~e & g)) + constants[t] + w[t];
    const std::uint32_t s0 = std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22);
    const std::uint32_t t2 = s0 + ((a & b) ^ (a & c) ^ (b & c));
    h = g, g = f, f = e, e = d + t1;
    d = c, c = b, b = a, a = t1 + t2;
  }
  const std::array<std::uint32_t, 8> add_up = {a, b, c, d, e, f, g, h};
  for (std::size_t k = 0; k < state_.size(); ++k)
    state_[k] += add_up[k];
}

Digest hmac_sha256(std::span<const std::uint8_t> key, std::span<const std::uint8_t> message) {
  std::array<std::uint8_t, block_bytes> padded{};
  if (key.size() > block_bytes) {
    std::ranges::copy(Sha256().add(key).digest(), padded.begin());
  } else {
    std::ranges::copy(key, padded.begin());
  }
  std::array<std::uint8_t, block_bytes> inner = padded;
  std::array<std::uint8_t, block_bytes> outer = padded;
  for (std::size_t k = 0; k < block_bytes; ++k) {
    inner[k] ^= 0x36;
    outer[k] ^= 0x5c;
  }
  return Sha256().add(outer).add(Sha256().add(inner).add(message).digest()).digest();
}

bool same(std::span<const std::uint8_t> first, std::span<const std::uint8_t> second) {
  if (first.size() != second.size()) return false;
  unsigned different = 0;
  for (std::size_t k = 0; k < first.size(); ++k)
    different |= static_cast<unsigned>(first[k] ^ second[k]);
  return different == 0;
}

}  // namespace gpucast::remote
