// Random numbers that are the same on every platform (the standard's distributions are not).
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <random>

namespace gpucast::fit {

class Random {
 public:
  // `stream`: independent sequences under one seed, one per replicate, whatever thread runs it.
  explicit Random(std::uint64_t seed, std::uint64_t stream = 0) : engine_(seeded(seed, stream)) {}

  // Uniform in [0, 1).
  double uniform() { return static_cast<double>(engine_() >> 11U) * 0x1p-53; }

  // Uniform in 0 ... count - 1.
  std::size_t below(std::size_t count) {
    return static_cast<std::size_t>(uniform() * static_cast<double>(count));
  }

  // Standard normal (Box and Muller 1958).
  double normal() {
    const double radius = std::sqrt(-2 * std::log1p(-uniform()));
    return radius * std::cos(2 * std::numbers::pi * uniform());
  }

 private:
  static std::mt19937_64 seeded(std::uint64_t seed, std::uint64_t stream) {
    std::seed_seq sequence{seed, seed >> 32U, stream, stream >> 32U};
    return std::mt19937_64(sequence);
  }

  std::mt19937_64 engine_;
};

}  // namespace gpucast::fit
