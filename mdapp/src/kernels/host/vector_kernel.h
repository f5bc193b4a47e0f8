// `tuned` of the host, for vectors of any width: included by one source for each instruction set,
// which defines what is special to it,
//
//     struct Isa {
//       using Float = ...;  // a vector type of the compiler's (vector_size)
//       using Int = ...;    // of as many ints
//       static Float rsqrt_estimate(Float x);  // relative error below 2^-11
//     };
//
// Nothing here may be shared between those sources by the linker: every function is inlined or
// depends on Isa, which is local to its source.
#pragma once

#include "kernels/host/host_kernels.h"
#include "kernels/pair_sum.h"

namespace gpucast::mdapp::host {

// Elementary functions on vectors.
template <class Isa>
struct VectorMath {
  using Float = typename Isa::Float;
  using Int = typename Isa::Int;

  // Contracted by the compiler where the instruction set has it.
  GPUCAST_HD static inline Float fma(Float a, Float b, Float c) { return a * b + c; }

  // One Newton step doubles the bits of the estimate: relative error below 3e-7.
  GPUCAST_HD static inline Float rsqrt(Float x) {
    const Float y = Isa::rsqrt_estimate(x);
    return y * (1.5F - 0.5F * x * y * y);
  }

  // 2^x = 2^k 2^f with f in [-1/2, 1/2]: minimax polynomial of degree 5, relative error 7.5e-8, by
  // Remez' algorithm. Below 2^-126 the result is 2^-126: for a force that is nothing.
  GPUCAST_HD static inline Float exp2(Float x) {
    constexpr float least = -126.0F;
    const Float clamped = x < least ? Float{} + least : x;
    // Adding 1.5 * 2^23 leaves the integer part in the low bits.
    constexpr float no_fraction = 12582912.0F;
    const Float shifted = clamped + no_fraction;
    const Float f = clamped - (shifted - no_fraction);
    Float p = fma(f, Float{} + 0.0013276472F, Float{} + 0.009675541F);
    p = fma(p, f, Float{} + 0.05550713F);
    p = fma(p, f, Float{} + 0.2402212F);
    p = fma(p, f, Float{} + 0.69314694F);
    p = fma(p, f, Float{} + 1.0000001F);
    constexpr int mantissa_bits = 23;
    return reinterpret_cast<Float>(reinterpret_cast<Int>(p) +
                                   (reinterpret_cast<Int>(shifted) << mantissa_bits));
  }

  GPUCAST_HD static inline Float erfc(Float x, Float exp_minus_x2) {
    const Float t = 1.0F / (1.0F + 0.3275911F * x);
    return approximate_erfc<VectorMath>(t, exp_minus_x2);
  }

  GPUCAST_HD static inline Float nearest_integer(Float x, Float factor) {
    constexpr float no_fraction = 12582912.0F;
    const Float shifted = x * factor + no_fraction;
    return shifted - no_fraction;
  }
};

template <class Float>
GPUCAST_HD inline PairConstants<Float> in_all_lanes(const PairConstants<float>& c) {
  return {Float{} + c.exponent, Float{} + c.six_C,        Float{} + c.eight_D,
          Float{} + c.charge,   Float{} + c.cutoff_force, Float{} + c.cutoff_energy};
}

// `vectors` registers of particles i.
template <class Isa, int vectors, bool with_sums>
struct Particles {
  using Float = typename Isa::Float;
  using Int = typename Isa::Int;
  Float x[vectors], y[vectors], z[vectors];
  Int index[vectors];
  Totals<Float, with_sums> total[vectors];
};

// All j in [begin, end), of one type.
template <class Isa, BoundaryKind kind, bool with_sums, bool may_be_self, int vectors>
GPUCAST_HD inline void add_run(Particles<Isa, vectors, with_sums>& mine, const ForceArguments& a,
                               int begin, int end, const PairConstants<typename Isa::Float>& pair) {
  using Float = typename Isa::Float;
  PairTotals<Float, with_sums> part[vectors];
  for (int j = begin; j < end; ++j) {
    const Float xj = Float{} + a.positions[j].x;
    const Float yj = Float{} + a.positions[j].y;
    const Float zj = Float{} + a.positions[j].z;
    for (int u = 0; u < vectors; ++u) {
      add_pair<VectorMath<Isa>, kind, with_sums, may_be_self>(part[u], mine.x[u], mine.y[u],
                                                              mine.z[u], xj, yj, zj, pair,
                                                              a.field.shared, mine.index[u] == j);
    }
  }
  for (int u = 0; u < vectors; ++u)
    mine.total[u].add(part[u]);
}

// Particles i of one type, by their index in the share: [begin, end), at most one register block.
template <class Isa, BoundaryKind kind, bool with_sums, int vectors>
void add_block(const ForceArguments& a, int begin, int end, int type) {
  using Float = typename Isa::Float;
  constexpr int lanes = sizeof(Float) / sizeof(float);
  Particles<Isa, vectors, with_sums> mine;
  for (int u = 0; u < vectors; ++u) {
    for (int lane = 0; lane < lanes; ++lane) {
      const int own = begin + u * lanes + lane;
      // Lanes beyond the end repeat the first particle; nobody reads them.
      const int i = a.share.first + (own < end ? own : begin);
      mine.x[u][lane] = a.positions[i].x;
      mine.y[u][lane] = a.positions[i].y;
      mine.z[u][lane] = a.positions[i].z;
      mine.index[u][lane] = i;
    }
  }

  const int own_first = a.share.first + begin;
  const int own_end = a.share.first + end;
  for (int other = 0; other < 2; ++other) {
    const int first = other == 0 ? 0 : a.cations;
    const int last = other == 0 ? a.cations : a.n;
    const auto pair = in_all_lanes<Float>(a.field.pair[type][other]);
    for (int j = first; j < last; j += chunk) {
      const int stop = j + chunk < last ? j + chunk : last;
      if (j < own_end && stop > own_first) {
        add_run<Isa, kind, with_sums, true>(mine, a, j, stop, pair);
      } else {
        add_run<Isa, kind, with_sums, false>(mine, a, j, stop, pair);
      }
    }
  }

  const float half = a.field.shared.lambda / 2;
  for (int own = begin; own < end; ++own) {
    const int u = (own - begin) / lanes;
    const int lane = (own - begin) % lanes;
    const auto& total = mine.total[u];
    a.forces[own] = {total.x.sum[lane], total.y.sum[lane], total.z.sum[lane]};
    if constexpr (with_sums) {
      const Position& me = a.positions[a.share.first + own];
      const Force& f = a.forces[own];
      a.sums[own] = {(total.short_range.sum[lane] + total.coulomb.sum[lane]) * half,
                     virial_of<kind>(total.virial.sum[lane] * half, me.x, me.y, me.z, f.x, f.y, f.z,
                                     a.field.shared.lambda)};
    }
  }
}

template <class Isa, BoundaryKind kind, bool with_sums>
void add_all(const ForceArguments& a) {
  constexpr int vectors = 2;
  constexpr int block = vectors * static_cast<int>(sizeof(typename Isa::Float) / sizeof(float));
  int border = a.cations - a.share.first;
  border = border < 0 ? 0 : border;
  border = border > a.share.count ? a.share.count : border;
  const int edges[] = {0, border, a.share.count};
  for (int type = 0; type < 2; ++type) {
    for (int begin = edges[type]; begin < edges[type + 1]; begin += block) {
      const int end = begin + block < edges[type + 1] ? begin + block : edges[type + 1];
      add_block<Isa, kind, with_sums, vectors>(a, begin, end, type);
    }
  }
}

template <class Isa, BoundaryKind kind>
void add_all(const ForceArguments& a) {
  if (a.sums != nullptr) {
    add_all<Isa, kind, true>(a);
  } else {
    add_all<Isa, kind, false>(a);
  }
}

template <class Isa>
void vector_forces(const ForceArguments& a) {
  switch (a.boundary) {
    case BoundaryKind::open:
      return add_all<Isa, BoundaryKind::open>(a);
    case BoundaryKind::dsf:
      return add_all<Isa, BoundaryKind::dsf>(a);
    case BoundaryKind::minimum_image:
      return add_all<Isa, BoundaryKind::minimum_image>(a);
  }
}

// One for each source.
void tuned_avx512(const ForceArguments& arguments);
void tuned_avx2(const ForceArguments& arguments);
void tuned_sse2(const ForceArguments& arguments);
void tuned_generic(const ForceArguments& arguments);

}  // namespace gpucast::mdapp::host
