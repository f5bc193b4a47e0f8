// Equality bit for bit, of NaN too.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <span>

#include "physics/particle.h"

namespace gpucast::mdapp::test {

// T: a struct of floats.
template <class T>
bool same_bits(const T& a, const T& b) {
  using Words = std::array<std::uint32_t, sizeof(T) / sizeof(std::uint32_t)>;
  return std::bit_cast<Words>(a) == std::bit_cast<Words>(b);
}

template <class T>
bool same_bits(std::span<const T> a, std::span<const T> b) {
  bool same = a.size() == b.size();
  for (std::size_t k = 0; same && k < a.size(); ++k)
    same = same_bits(a[k], b[k]);
  return same;
}

}  // namespace gpucast::mdapp::test
