// Sums of many floats that cancel: particles are sorted by type, so that the force of all cations
// is summed before that of the anions takes most of it away again. Chunks are summed plainly, and
// their sums with compensation (Kahan, CACM 8 (1965) 40).
#pragma once

namespace gpucast::mdapp::cuda {

// Particles j whose contributions are added plainly.
inline constexpr int chunk = 64;

struct Compensated {
  float sum = 0;
  float lost = 0;  // what rounding has added to `sum` too much

  __device__ void add(float value) {
    const float corrected = value - lost;
    const float next = sum + corrected;
    lost = (next - sum) - corrected;
    sum = next;
  }
  __device__ double value() const { return static_cast<double>(sum) - static_cast<double>(lost); }
};

// Everything that is summed for a particle; energy and virial over lambda.
template <bool with_sums>
struct PairTotals;

template <>
struct PairTotals<false> {
  float x = 0, y = 0, z = 0;
};
template <>
struct PairTotals<true> {
  float x = 0, y = 0, z = 0, energy = 0, virial = 0;
};

template <bool with_sums>
struct Totals {
  Compensated x, y, z;
  __device__ void add(const PairTotals<with_sums>& part) {
    x.add(part.x);
    y.add(part.y);
    z.add(part.z);
  }
};

template <>
struct Totals<true> {
  Compensated x, y, z, energy, virial;
  __device__ void add(const PairTotals<true>& part) {
    x.add(part.x);
    y.add(part.y);
    z.add(part.z);
    energy.add(part.energy);
    virial.add(part.virial);
  }
};

}  // namespace gpucast::mdapp::cuda
