// `tuned` of the host, for vectors of any width: a source for each instruction set makes it of what
// is special to that set.
//
// A particle's force is the same, bit for bit, whatever shares its register, and whether or not
// another's pair with itself is masked on the way: a lane does the same operations in the same
// order in every form of a loop. So the compiler contracts nothing (-ffp-contract=off), and what is
// to be fused is written as fma.
//
// Nothing here may be shared between those sources by the linker: every function is inlined or
// depends on Isa, which is local to its source.
#pragma once

#ifdef __x86_64__
#include <immintrin.h>
#endif

#include <cmath>

#include "kernels/host/host_kernels.h"
#include "kernels/pair_sum.h"

namespace gpucast::mdapp::host {

// ---- instruction sets, as far as the compiler may use them in this source ----

namespace {  // NOLINT(misc-anonymous-namespace-in-header): each source has its own

// For processors without a source of their own: vectors as the compiler makes them, IEEE square
// root and division.
struct Generic {
  using Float __attribute__((vector_size(16))) = float;
  using Int __attribute__((vector_size(16))) = int;  // as many

  // a b + c, in one rounding if there is such.
  GPUCAST_HD static inline Float fma(Float a, Float b, Float c) { return a * b + c; }
  // b where one of them is NaN.
  GPUCAST_HD static inline Float max(Float a, Float b) { return a > b ? a : b; }
  // Relative error below 2^-11.
  GPUCAST_HD static inline Float rsqrt_estimate(Float x) {
    Float y{};
    for (int lane = 0; lane < 4; ++lane)
      y[lane] = 1.0F / std::sqrt(x[lane]);
    return y;
  }
};

#ifdef __SSE2__
struct Sse2 : Generic {
  GPUCAST_HD static inline Float max(Float a, Float b) { return _mm_max_ps(a, b); }
  GPUCAST_HD static inline Float rsqrt_estimate(Float x) { return _mm_rsqrt_ps(x); }
};
#endif

#if defined(__AVX2__) && defined(__FMA__)
struct Avx2 {
  using Float __attribute__((vector_size(32))) = float;
  using Int __attribute__((vector_size(32))) = int;
  GPUCAST_HD static inline Float fma(Float a, Float b, Float c) { return _mm256_fmadd_ps(a, b, c); }
  GPUCAST_HD static inline Float max(Float a, Float b) { return _mm256_max_ps(a, b); }
  GPUCAST_HD static inline Float rsqrt_estimate(Float x) { return _mm256_rsqrt_ps(x); }
};
#endif

#ifdef __AVX512F__
struct Avx512 {
  using Float __attribute__((vector_size(64))) = float;
  using Int __attribute__((vector_size(64))) = int;
  GPUCAST_HD static inline Float fma(Float a, Float b, Float c) { return _mm512_fmadd_ps(a, b, c); }
  GPUCAST_HD static inline Float max(Float a, Float b) { return _mm512_max_ps(a, b); }
  GPUCAST_HD static inline Float rsqrt_estimate(Float x) { return _mm512_rsqrt14_ps(x); }
};
#endif

}  // namespace

// Elementary functions on vectors.
template <class Isa>
struct VectorMath {
  using Float = Isa::Float;
  using Int = Isa::Int;

  GPUCAST_HD static inline Float fma(Float a, Float b, Float c) { return Isa::fma(a, b, c); }

  // One Newton step, y + y/2 (1 - x y^2), doubles the bits of the estimate: relative error below
  // 3e-7. NaN for 0.
  GPUCAST_HD static inline Float rsqrt(Float x) {
    const Float y = Isa::rsqrt_estimate(x);
    return fma(y * 0.5F, fma(-(x * y), y, all_lanes(1.0F)), y);
  }

  // 2^x = 2^k 2^f with f in [-1/2, 1/2]: minimax polynomial of degree 5, relative error 7.5e-8, by
  // Remez' algorithm. Below 2^-100 the result is 2^-100: for a force that is nothing, and so far
  // from what is denormal, and slow, that no product comes near it.
  GPUCAST_HD static inline Float exp2(Float x) {
    constexpr float least = -100.0F;
    const Float clamped = Isa::max(all_lanes(least), x);
    // Adding 1.5 * 2^23 leaves the integer part in the low bits.
    constexpr float no_fraction = 12582912.0F;
    const Float shifted = clamped + no_fraction;
    const Float f = clamped - (shifted - no_fraction);
    Float p = fma(f, all_lanes(0.0013276472F), all_lanes(0.009675541F));
    p = fma(p, f, all_lanes(0.05550713F));
    p = fma(p, f, all_lanes(0.2402212F));
    p = fma(p, f, all_lanes(0.69314694F));
    p = fma(p, f, all_lanes(1.0000001F));
    constexpr int mantissa_bits = 23;
    return reinterpret_cast<Float>(reinterpret_cast<Int>(p) +
                                   (reinterpret_cast<Int>(shifted) << mantissa_bits));
  }

  GPUCAST_HD static inline Float erfc(Float x, Float exp_minus_x2) {
    const Float t = 1.0F / fma(x, all_lanes(0.3275911F), all_lanes(1.0F));
    return approximate_erfc<VectorMath>(t, exp_minus_x2);
  }

  GPUCAST_HD static inline Float nearest_integer(Float x, Float factor) {
    constexpr float no_fraction = 12582912.0F;
    return fma(x, factor, all_lanes(no_fraction)) - no_fraction;
  }

 private:
  GPUCAST_HD static inline Float all_lanes(float x) { return splat<Float>(x); }
};

template <class Float>
GPUCAST_HD inline PairConstants<Float> in_all_lanes(const PairConstants<float>& c) {
  return {splat<Float>(c.exponent), splat<Float>(c.six_C),        splat<Float>(c.eight_D),
          splat<Float>(c.charge),   splat<Float>(c.cutoff_force), splat<Float>(c.cutoff_energy)};
}

// `vectors` registers of particles i.
template <class Isa, int vectors, bool with_sums>
struct Particles {
  using Float = Isa::Float;
  using Int = Isa::Int;
  Float x[vectors]{}, y[vectors]{}, z[vectors]{};
  Int index[vectors]{};
  Totals<Float, with_sums> total[vectors];
};

// All j in [begin, end), of one type.
template <class Isa, BoundaryKind kind, bool with_sums, bool may_be_self, int vectors>
GPUCAST_HD inline void add_run(Particles<Isa, vectors, with_sums>& mine, const ForceArguments& a,
                               int begin, int end, const PairConstants<typename Isa::Float>& pair) {
  using Float = Isa::Float;
  PairTotals<Float, with_sums> part[vectors];
  for (int j = begin; j < end; ++j) {
    const Float xj = splat<Float>(a.positions[j].x);
    const Float yj = splat<Float>(a.positions[j].y);
    const Float zj = splat<Float>(a.positions[j].z);
#pragma GCC unroll 4
    for (int u = 0; u < vectors; ++u) {
      add_pair<VectorMath<Isa>, kind, with_sums, may_be_self>(part[u], mine.x[u], mine.y[u],
                                                              mine.z[u], xj, yj, zj, pair,
                                                              a.field.shared, mine.index[u] == j);
    }
  }
#pragma GCC unroll 4
  for (int u = 0; u < vectors; ++u)
    mine.total[u].add(part[u]);
}

// Particles i of one type, by their index in the slice: [begin, end), at most `vectors` registers.
template <class Isa, BoundaryKind kind, bool with_sums, int vectors>
void add_block(const ForceArguments& a, int begin, int end, int type) {
  using Float = Isa::Float;
  constexpr int lanes = sizeof(Float) / sizeof(float);
  Particles<Isa, vectors, with_sums> mine;
  for (int u = 0; u < vectors; ++u) {
    for (int lane = 0; lane < lanes; ++lane) {
      const int own = begin + u * lanes + lane;
      // Lanes beyond the end repeat the first particle; nobody reads them.
      const int i = a.slice.first + (own < end ? own : begin);
      mine.x[u][lane] = a.positions[i].x;
      mine.y[u][lane] = a.positions[i].y;
      mine.z[u][lane] = a.positions[i].z;
      mine.index[u][lane] = i;
    }
  }

  const int own_first = a.slice.first + begin;
  const int own_end = a.slice.first + end;
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
      const Position& me = a.positions[a.slice.first + own];
      const Force& f = a.forces[own];
      a.sums[own] = {(total.short_range.sum[lane] + total.coulomb.sum[lane]) * half,
                     virial_of<kind>(total.virial.sum[lane] * half, me.x, me.y, me.z, f.x, f.y, f.z,
                                     a.field.shared.lambda)};
    }
  }
}

template <class Isa, BoundaryKind kind, bool with_sums>
void add_all(const ForceArguments& a) {
  // Four registers of particles side by side, or else each operation would wait for the one before.
  constexpr int vectors = 4;
  constexpr int lanes = sizeof(typename Isa::Float) / sizeof(float);
  constexpr int block = vectors * lanes;
  int border = a.cations - a.slice.first;
  border = border < 0 ? 0 : border;
  border = border > a.slice.count ? a.slice.count : border;
  const int edges[] = {0, border, a.slice.count};
  for (int type = 0; type < 2; ++type) {
    const int last = edges[type + 1];
    int begin = edges[type];
    for (; begin + block <= last; begin += block)
      add_block<Isa, kind, with_sums, vectors>(a, begin, begin + block, type);
    for (; begin < last; begin += lanes) {
      add_block<Isa, kind, with_sums, 1>(a, begin, begin + lanes < last ? begin + lanes : last,
                                         type);
    }
  }
}

template <class Isa>
void vector_forces(const ForceArguments& a) {
  dispatch(a.boundary, a.sums != nullptr,
           [&]<BoundaryKind kind, bool with_sums> { add_all<Isa, kind, with_sums>(a); });
}

// One for each source.
void tuned_avx512(const ForceArguments& arguments);
void tuned_avx2(const ForceArguments& arguments);
void tuned_sse2(const ForceArguments& arguments);
void tuned_generic(const ForceArguments& arguments);

}  // namespace gpucast::mdapp::host
