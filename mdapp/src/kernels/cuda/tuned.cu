// The fast form of the same sum.
//
// Particles are sorted by type, and a block sums for particles of one type only: within a run of j
// of one type all threads need the same constants, which come from uniform registers and leave the
// ports of the register file to the rest. Each thread sums for several particles i, so that one
// read of j from shared memory serves them all. A pair then takes about 20 instructions, two of
// them on the special-function unit. Where there are too few particles i to fill the GPU, or where
// the last wave of blocks would leave much of it idle, the sum over j is split over blocks; the
// block that arrives last adds up the parts, always in the same order.
#include <algorithm>

#include "gpucast/devices/cuda/resources.h"
#include "kernels/cuda/launch.h"
#include "physics/math.h"

namespace gpucast::mdapp::cuda {
namespace {

using devices::cuda::check;

// The GPU's own approximations: one instruction each, relative error about 2^-22 (CUDA C++
// Programming Guide, intrinsic functions).
struct FastMath {
  __device__ static float fma(float a, float b, float c) { return __fmaf_rn(a, b, c); }
  __device__ static float rsqrt(float x) {
    float y;
    asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
  }
  __device__ static float exp2(float x) {
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
  }
  __device__ static float erfc(float x, float exp_minus_x2) {
    float t;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(t) : "f"(__fmaf_rn(0.3275911F, x, 1.0F)));
    return approximate_erfc<FastMath>(t, exp_minus_x2);
  }
  // The integer nearest to x * factor, exact below 2^22: adding 1.5 * 2^23 removes the bits of the
  // fraction. Two instructions, one of which, the rounding one, runs at a quarter of their rate.
  __device__ static float nearest_integer(float x, float factor) {
    constexpr float no_fraction = 12582912.0F;
    return __fadd_rn(__fmaf_rn(x, factor, no_fraction), -no_fraction);
  }
};

// Number of particles in a slice from which on four per thread fill a large GPU (measured on an
// H200).
constexpr int enough_for_four = 16384;

__device__ __forceinline__ double exact(const Compensated<float>& total) {
  return static_cast<double>(total.sum) - static_cast<double>(total.lost);
}

// Partial sums of force, energy and virial; energy and virial over lambda.
template <bool with_sums>
__device__ __forceinline__ void exact(const Totals<float, with_sums>& total, double (&sum)[5]) {
  sum[0] = exact(total.x);
  sum[1] = exact(total.y);
  sum[2] = exact(total.z);
  if constexpr (with_sums) {
    sum[3] = exact(total.short_range) + exact(total.coulomb);
    sum[4] = exact(total.virial);
  }
}

// Several particles i of one thread.
template <int I, bool with_sums>
struct Mine {
  float x[I], y[I], z[I];
  int index[I];  // among all n
  Totals<float, with_sums> total[I];
};

// All j in tile[0, count), which are of one type and start at index `first`.
template <BoundaryKind kind, bool with_sums, int I, bool may_be_self>
__device__ __forceinline__ void add_tile(Mine<I, with_sums>& mine, const Position* tile, int count,
                                         int first, const PairConstants<float>& pair,
                                         const SharedConstants<float>& shared) {
  for (int begin = 0; begin < count; begin += chunk) {
    const int end = min(begin + chunk, count);
    PairTotals<float, with_sums> part[I];
#pragma unroll(I == 4 ? 4 : 8)  // measured: what the compiler's choice of registers likes best
    for (int j = begin; j < end; ++j) {
      const Position other = tile[j];
#pragma unroll
      for (int k = 0; k < I; ++k) {
        add_pair<FastMath, kind, with_sums, may_be_self>(part[k], mine.x[k], mine.y[k], mine.z[k],
                                                         other.x, other.y, other.z, pair, shared,
                                                         first + j == mine.index[k]);
      }
    }
#pragma unroll
    for (int k = 0; k < I; ++k)
      mine.total[k].add(part[k]);
  }
}

// Particles of one type among the slice, by their index in it: a block's own are [begin, end).
struct Own {
  int type;
  int begin;
  int end;
};

__device__ __forceinline__ Own own_particles(const ForceArguments& a, int per_block) {
  const int border = min(max(a.cations - a.slice.first, 0), a.slice.count);
  const int cation_blocks = (border + per_block - 1) / per_block;
  const int block = static_cast<int>(blockIdx.x);
  if (block < cation_blocks) return {0, block * per_block, min(border, (block + 1) * per_block)};
  const int begin = border + (block - cation_blocks) * per_block;
  return {1, begin, min(a.slice.count, begin + per_block)};
}

// The parts that the sum over j is split into: whole chunks, but for the end.
__device__ __forceinline__ int split_begin(int n, int splits, int split) {
  const int chunks = (n + chunk - 1) / chunk;
  const auto part = static_cast<long long>(chunks) * split / splits;
  return min(n, static_cast<int>(part) * chunk);
}

template <BoundaryKind kind, bool with_sums>
__device__ void write(const ForceArguments& a, int own, const double (&sum)[5]) {
  a.forces[own] = {static_cast<float>(sum[0]), static_cast<float>(sum[1]),
                   static_cast<float>(sum[2])};
  if constexpr (with_sums) {
    const double lambda = a.field.shared.lambda;
    const Position& me = a.positions[a.slice.first + own];
    const double virial = virial_of<kind>(sum[4] * lambda / 2, double{me.x}, double{me.y},
                                          double{me.z}, sum[0], sum[1], sum[2], lambda);
    a.sums[own] = {static_cast<float>(sum[3] * lambda / 2), static_cast<float>(virial)};
  }
}

// The block that arrives last for its particles adds the partial results of all others.
template <BoundaryKind kind, bool with_sums, int I>
__device__ void combine(const ForceArguments& a, const Mine<I, with_sums>& mine, const Own& block) {
  constexpr int components = with_sums ? 5 : 3;
  const auto count = static_cast<std::size_t>(a.slice.count);
  const int threads = static_cast<int>(blockDim.x);
  const auto at = [&](unsigned split, int component, int own) -> double& {
    return a.partial[(split * partial_components + static_cast<unsigned>(component)) * count +
                     static_cast<std::size_t>(own)];
  };
#pragma unroll
  for (int k = 0; k < I; ++k) {
    const int own = block.begin + static_cast<int>(threadIdx.x) + k * threads;
    if (own >= block.end) continue;
    double sum[5];
    exact(mine.total[k], sum);
    for (int c = 0; c < components; ++c)
      at(blockIdx.y, c, own) = sum[c];
  }
  __shared__ bool last;
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) {
    // Counts to the number of splits and restarts at 0, ready for the next launch.
    last = atomicInc(&a.arrived[blockIdx.x], gridDim.y - 1) == gridDim.y - 1;
  }
  __syncthreads();
  if (!last) return;
  __threadfence();
#pragma unroll
  for (int k = 0; k < I; ++k) {
    const int own = block.begin + static_cast<int>(threadIdx.x) + k * threads;
    if (own >= block.end) continue;
    double sum[5] = {};
    for (unsigned split = 0; split < gridDim.y; ++split)
      for (int c = 0; c < components; ++c)
        sum[c] += __ldcg(&at(split, c, own));
    write<kind, with_sums>(a, own, sum);
  }
}

template <BoundaryKind kind, bool with_sums, int I>
__global__ void __launch_bounds__(most_tuned_threads)
    tuned(const __grid_constant__ ForceArguments a) {
  __shared__ Position tile[most_tuned_threads];
  const int threads = static_cast<int>(blockDim.x);
  const int thread = static_cast<int>(threadIdx.x);
  const Own block = own_particles(a, threads * I);

  Mine<I, with_sums> mine;
#pragma unroll
  for (int k = 0; k < I; ++k) {
    const int own = block.begin + thread + k * threads;
    mine.index[k] = a.slice.first + (own < block.end ? own : block.begin);
    const Position p = a.positions[mine.index[k]];
    mine.x[k] = p.x;
    mine.y[k] = p.y;
    mine.z[k] = p.z;
  }

  const int begin = split_begin(a.n, static_cast<int>(gridDim.y), static_cast<int>(blockIdx.y));
  const int end = split_begin(a.n, static_cast<int>(gridDim.y), static_cast<int>(blockIdx.y) + 1);
  const int own_first = a.slice.first + block.begin;
  const int own_end = a.slice.first + block.end;
  for (int type = 0; type < 2; ++type) {
    const int type_begin = max(begin, type == 0 ? 0 : a.cations);
    const int type_end = min(end, type == 0 ? a.cations : a.n);
    const PairConstants<float> pair = a.field.pair[block.type][type];
    for (int first = type_begin; first < type_end; first += threads) {
      const int count = min(threads, type_end - first);
      __syncthreads();
      if (thread < count) tile[thread] = a.positions[first + thread];
      __syncthreads();
      if (first < own_end && first + count > own_first)
        add_tile<kind, with_sums, I, true>(mine, tile, count, first, pair, a.field.shared);
      else
        add_tile<kind, with_sums, I, false>(mine, tile, count, first, pair, a.field.shared);
    }
  }

  if (gridDim.y > 1) {
    combine<kind>(a, mine, block);
    return;
  }
#pragma unroll
  for (int k = 0; k < I; ++k) {
    const int own = block.begin + thread + k * threads;
    if (own >= block.end) continue;
    double sum[5];
    exact(mine.total[k], sum);
    write<kind, with_sums>(a, own, sum);
  }
}

// Energies need additional registers, so that there are fewer particles per thread.
constexpr int most_i_with_sums = 2;

int multiprocessors() {
  int device = 0;
  int count = 0;
  check(cudaGetDevice(&device), "cudaGetDevice");
  check(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device),
        "cudaDeviceGetAttribute");
  return count;
}

// Time of a division, in units of what one block needs for one j with its multiprocessor full. The
// busiest multiprocessor works through w blocks of part j each: w at a time as long as it is full,
// no less than `latency` while it is not (a fourth power joins the two), and `tail` more for blocks
// that end one by one. A block takes `start` j beyond its own. The numbers are those that choose
// best among 28 splits of each of eleven sizes on an H200 (within 2.1 % of the fastest; a single
// wave of blocks in step is up to 15 % slower than many short ones).
double cost(int sms, int n, int slice, int per_block, int splits) {
  constexpr double latency = 2.15;
  constexpr double tail = 0.4;
  constexpr double start = 24;
  const double blocks = std::ceil(static_cast<double>(slice) / per_block) * splits;
  const double w = std::ceil(blocks / sms);
  const double part = static_cast<double>(n) / splits;
  return (part + start) * (std::pow(std::pow(latency, 4) + std::pow(w, 4), 0.25) + tail);
}

int best_split(int sms, int n, int slice, int per_block) {
  // Partial sums of all splits stay below a quarter of a gigabyte.
  constexpr double most_partial_bytes = 256e6;
  const double per_split = static_cast<double>(slice) * partial_components * sizeof(double);
  const int most = std::clamp(static_cast<int>(most_partial_bytes / per_split), 1,
                              std::min((n + chunk - 1) / chunk, 512));
  int best = 1;
  for (int splits = 2; splits <= most; ++splits)
    if (cost(sms, n, slice, per_block, splits) < cost(sms, n, slice, per_block, best))
      best = splits;
  return best;
}

}  // namespace

Division divide(const KernelChoice& choice, int n, int slice) {
  Division division{.threads = choice.block > 0 ? choice.block : most_tuned_threads,
                    .i_per_thread = slice >= enough_for_four ? 4 : 1,
                    .j_split = choice.j_split};
  if (division.j_split == 0) {
    division.j_split =
        best_split(multiprocessors(), n, slice, division.threads * division.i_per_thread);
  }
  return division;
}

void launch_tuned(const ForceArguments& arguments, const Division& division, cudaStream_t stream) {
  // The results are the same.
  const int i_per_thread = arguments.sums != nullptr
                               ? std::min(division.i_per_thread, most_i_with_sums)
                               : division.i_per_thread;
  const int per_block = division.threads * i_per_thread;
  const Slice slice = arguments.slice;
  const int cations = std::clamp(arguments.cations - slice.first, 0, slice.count);
  const int blocks =
      (cations + per_block - 1) / per_block + (slice.count - cations + per_block - 1) / per_block;
  const dim3 grid(static_cast<unsigned>(blocks), static_cast<unsigned>(division.j_split));
  const auto threads = static_cast<unsigned>(division.threads);
  dispatch(arguments.boundary, arguments.sums != nullptr, [&]<BoundaryKind K, bool S>() {
    switch (i_per_thread) {
      case 1:
        return tuned<K, S, 1><<<grid, threads, 0, stream>>>(arguments);
      case 2:
        return tuned<K, S, 2><<<grid, threads, 0, stream>>>(arguments);
      default:
        return tuned < K, S, S ? most_i_with_sums : 4 > <<<grid, threads, 0, stream>>>(arguments);
    }
  });
}

}  // namespace gpucast::mdapp::cuda
