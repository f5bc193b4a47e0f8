// The fast form of the same sum.
//
// Particles j are sorted by type, so that within a run of one type the constants of a pair depend
// on i alone and stay in registers. Each thread sums for several particles i, so that one read of j
// from shared memory serves them all. A pair then costs about 20 instructions, two of them on the
// special-function unit. Where there are too few particles i to fill the GPU, or where the last
// wave of blocks would leave much of it idle, the sum over j is split over blocks; the block that
// arrives last adds up the parts, always in the same order.
#include <algorithm>
#include <cmath>

#include "engine/cuda/check.h"
#include "engine/cuda/defaults.h"
#include "kernels/cuda/fast_math.cuh"
#include "kernels/cuda/launch.h"
#include "kernels/cuda/pair_sum.cuh"

namespace gpucast::mdapp::cuda {
namespace {

constexpr int most_threads = most_tuned_threads;

// Several particles i of one thread.
template <int I, bool with_sums>
struct Mine {
  float x[I], y[I], z[I];
  int index[I];  // among all n
  Totals<with_sums> total[I];
};

// All j in tile[0, count), which are of one type and start at index `first`.
template <BoundaryKind kind, bool with_sums, int I, bool may_be_self>
__device__ __forceinline__ void add_tile(Mine<I, with_sums>& mine, const Position* tile, int count,
                                         int first, const PairConstants<float> (&pair)[I],
                                         const SharedConstants<float>& shared) {
  for (int begin = 0; begin < count; begin += chunk) {
    const int end = min(begin + chunk, count);
    PairTotals<with_sums> part[I];
#pragma unroll 4
    for (int j = begin; j < end; ++j) {
      const Position other = tile[j];
#pragma unroll
      for (int k = 0; k < I; ++k) {
        add_pair<FastMath, kind, with_sums, may_be_self>(part[k], mine.x[k], mine.y[k], mine.z[k],
                                                         other, pair[k], shared,
                                                         first + j == mine.index[k]);
      }
    }
#pragma unroll
    for (int k = 0; k < I; ++k)
      mine.total[k].add(part[k]);
  }
}

// The parts that the sum over j is split into: whole chunks, but for the end.
__device__ __forceinline__ int split_begin(int n, int splits, int split) {
  const int chunks = (n + chunk - 1) / chunk;
  const auto part = static_cast<long long>(chunks) * split / splits;
  return min(n, static_cast<int>(part) * chunk);
}

template <bool with_sums>
__device__ void write(const ForceArguments& a, int own, double x, double y, double z, double energy,
                      double virial) {
  a.forces[own] = {static_cast<float>(x), static_cast<float>(y), static_cast<float>(z)};
  if constexpr (with_sums) {
    const double half = a.field.shared.lambda / 2;
    a.sums[own] = {static_cast<float>(energy * half), static_cast<float>(virial * half)};
  }
}

// The block that finds all others of its particles arrived adds up what they left.
template <bool with_sums, int I>
__device__ void combine(const ForceArguments& a, const Mine<I, with_sums>& mine, int block_first) {
  constexpr int components = with_sums ? 5 : 3;
  const auto count = static_cast<std::size_t>(a.share.count);
  const int threads = static_cast<int>(blockDim.x);
  const auto at = [&](unsigned split, int component, int own) -> double& {
    return a.partial[(split * partial_components + static_cast<unsigned>(component)) * count +
                     static_cast<std::size_t>(own)];
  };
#pragma unroll
  for (int k = 0; k < I; ++k) {
    const int own = block_first + static_cast<int>(threadIdx.x) + k * threads;
    if (own >= a.share.count) continue;
    at(blockIdx.y, 0, own) = mine.total[k].x.value();
    at(blockIdx.y, 1, own) = mine.total[k].y.value();
    at(blockIdx.y, 2, own) = mine.total[k].z.value();
    if constexpr (with_sums) {
      at(blockIdx.y, 3, own) = mine.total[k].energy.value();
      at(blockIdx.y, 4, own) = mine.total[k].virial.value();
    }
  }
  __shared__ bool last;
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) {
    // Counts to the number of splits and starts anew, ready for the next launch.
    last = atomicInc(&a.arrived[blockIdx.x], gridDim.y - 1) == gridDim.y - 1;
  }
  __syncthreads();
  if (!last) return;
  __threadfence();
#pragma unroll
  for (int k = 0; k < I; ++k) {
    const int own = block_first + static_cast<int>(threadIdx.x) + k * threads;
    if (own >= a.share.count) continue;
    double sum[5] = {};
    for (unsigned split = 0; split < gridDim.y; ++split) {
      for (int c = 0; c < components; ++c)
        sum[c] += __ldcg(&at(split, c, own));
    }
    write<with_sums>(a, own, sum[0], sum[1], sum[2], sum[3], sum[4]);
  }
}

template <BoundaryKind kind, bool with_sums, int I>
__global__ void __launch_bounds__(most_threads) tuned(const __grid_constant__ ForceArguments a) {
  __shared__ Position tile[most_threads];
  const int threads = static_cast<int>(blockDim.x);
  const int thread = static_cast<int>(threadIdx.x);
  const int block_first = static_cast<int>(blockIdx.x) * threads * I;

  Mine<I, with_sums> mine;
#pragma unroll
  for (int k = 0; k < I; ++k) {
    const int own = block_first + thread + k * threads;
    mine.index[k] = a.share.first + (own < a.share.count ? own : 0);
    const Position p = a.positions[mine.index[k]];
    mine.x[k] = p.x;
    mine.y[k] = p.y;
    mine.z[k] = p.z;
  }

  const int begin = split_begin(a.n, static_cast<int>(gridDim.y), static_cast<int>(blockIdx.y));
  const int end = split_begin(a.n, static_cast<int>(gridDim.y), static_cast<int>(blockIdx.y) + 1);
  const int own_first = a.share.first + block_first;
  for (int type = 0; type < 2; ++type) {
    const int type_begin = max(begin, type == 0 ? 0 : a.cations);
    const int type_end = min(end, type == 0 ? a.cations : a.n);
    PairConstants<float> pair[I];
#pragma unroll
    for (int k = 0; k < I; ++k)
      pair[k] = a.field.pair[mine.index[k] < a.cations ? 0 : 1][type];

    for (int first = type_begin; first < type_end; first += threads) {
      const int count = min(threads, type_end - first);
      __syncthreads();
      if (thread < count) tile[thread] = a.positions[first + thread];
      __syncthreads();
      const bool own_inside = first < own_first + threads * I && first + count > own_first;
      // Particles beyond the share stand in for its first one.
      const bool stand_in_inside = first <= a.share.first && a.share.first < first + count;
      if (own_inside || stand_in_inside) {
        add_tile<kind, with_sums, I, true>(mine, tile, count, first, pair, a.field.shared);
      } else {
        add_tile<kind, with_sums, I, false>(mine, tile, count, first, pair, a.field.shared);
      }
    }
  }

  if (gridDim.y > 1) {
    combine(a, mine, block_first);
    return;
  }
#pragma unroll
  for (int k = 0; k < I; ++k) {
    const int own = block_first + thread + k * threads;
    if (own >= a.share.count) continue;
    double energy = 0;
    double virial = 0;
    if constexpr (with_sums) {
      energy = mine.total[k].energy.value();
      virial = mine.total[k].virial.value();
    }
    write<with_sums>(a, own, mine.total[k].x.value(), mine.total[k].y.value(),
                     mine.total[k].z.value(), energy, virial);
  }
}

// Calls body.template operator()<kind, with_sums, I>() for the values at hand.
template <class Body>
void dispatch(BoundaryKind kind, bool with_sums, int i_per_thread, Body body) {
  const auto by_i = [&]<BoundaryKind K, bool S>() {
    switch (i_per_thread) {
      case 1:
        return body.template operator()<K, S, 1>();
      case 2:
        return body.template operator()<K, S, 2>();
      default:
        return body.template operator()<K, S, 4>();
    }
  };
  const auto by_sums = [&]<BoundaryKind K>() {
    return with_sums ? by_i.template operator()<K, true>() : by_i.template operator()<K, false>();
  };
  switch (kind) {
    case BoundaryKind::open:
      return by_sums.template operator()<BoundaryKind::open>();
    case BoundaryKind::dsf:
      return by_sums.template operator()<BoundaryKind::dsf>();
    case BoundaryKind::minimum_image:
      return by_sums.template operator()<BoundaryKind::minimum_image>();
  }
}

struct Gpu {
  int sms;
  int blocks_per_sm;
};

Gpu gpu_for(BoundaryKind boundary, int i_per_thread, int threads) {
  Gpu gpu{};
  int device = 0;
  check(cudaGetDevice(&device), "cudaGetDevice");
  check(cudaDeviceGetAttribute(&gpu.sms, cudaDevAttrMultiProcessorCount, device),
        "cudaDeviceGetAttribute");
  dispatch(boundary, false, i_per_thread, [&]<BoundaryKind K, bool S, int I>() {
    check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&gpu.blocks_per_sm, tuned<K, S, I>, threads,
                                                        0),
          "cudaOccupancyMaxActiveBlocksPerMultiprocessor");
  });
  return gpu;
}

// Time of a division in units of one j: waves of blocks, each as long as its part of the sum and
// what a block costs besides.
double cost(const Gpu& gpu, int n, int share, int per_block, int splits) {
  constexpr double block_overhead = 48;
  const double blocks = std::ceil(static_cast<double>(share) / per_block) * splits;
  const double waves = std::ceil(blocks / (static_cast<double>(gpu.sms) * gpu.blocks_per_sm));
  return waves * (std::ceil(static_cast<double>(n) / splits / chunk) * chunk + block_overhead);
}

int best_split(const Gpu& gpu, int n, int share, int per_block) {
  // Partial sums of all splits stay below a quarter of a gigabyte.
  constexpr double most_partial_bytes = 256e6;
  const double per_split = static_cast<double>(share) * partial_components * sizeof(double);
  const int most = std::clamp(static_cast<int>(most_partial_bytes / per_split), 1,
                              std::min((n + chunk - 1) / chunk, 512));
  int best = 1;
  for (int splits = 2; splits <= most; ++splits) {
    // A finer split has to earn its second pass over the partial sums.
    if (cost(gpu, n, share, per_block, splits) < 0.99 * cost(gpu, n, share, per_block, best)) {
      best = splits;
    }
  }
  return best;
}

}  // namespace

Division divide(const KernelChoice& choice, BoundaryKind boundary, int n, int share) {
  Division division{.threads = choice.block > 0 ? choice.block : most_threads,
                    .i_per_thread = choice.i_per_thread,
                    .j_split = choice.j_split};
  if (division.i_per_thread == 0) division.i_per_thread = share >= 4096 ? 4 : 1;
  if (division.j_split == 0) {
    const Gpu gpu = gpu_for(boundary, division.i_per_thread, division.threads);
    division.j_split = best_split(gpu, n, share, division.threads * division.i_per_thread);
  }
  return division;
}

void launch_tuned(const ForceArguments& arguments, BoundaryKind boundary, const Division& division,
                  cudaStream_t stream) {
  const int per_block = division.threads * division.i_per_thread;
  const dim3 grid(static_cast<unsigned>((arguments.share.count + per_block - 1) / per_block),
                  static_cast<unsigned>(division.j_split));
  const auto threads = static_cast<unsigned>(division.threads);
  dispatch(boundary, arguments.sums != nullptr, division.i_per_thread,
           [&]<BoundaryKind K, bool S, int I>() {
             tuned<K, S, I><<<grid, threads, 0, stream>>>(arguments);
           });
}

}  // namespace gpucast::mdapp::cuda
