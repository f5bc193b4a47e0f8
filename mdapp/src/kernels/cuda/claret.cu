// The paper's kernel: one thread per particle over all pairs, positions staged block by block in
// shared memory, constants of each pair of types from a table, IEEE square root and division.
#include "kernels/cuda/launch.h"

namespace gpucast::mdapp::cuda {
namespace {

template <BoundaryKind kind, bool with_sums>
__global__ void claret(ForceArguments a) {
  extern __shared__ Position tile[];
  __shared__ PairConstants<float> table[2][2];
  if (threadIdx.x < 4)
    table[threadIdx.x / 2][threadIdx.x % 2] = a.field.pair[threadIdx.x / 2][threadIdx.x % 2];

  const int width = static_cast<int>(blockDim.x);
  const int thread = static_cast<int>(threadIdx.x);
  const int own = static_cast<int>(blockIdx.x) * width + thread;
  const bool inside = own < a.slice.count;
  const int i = a.slice.first + (inside ? own : 0);
  const Position me = a.positions[i];
  const int type = me.type != 0;

  Totals<float, with_sums> total;
  for (int first = 0; first < a.n; first += width) {
    __syncthreads();
    if (first + thread < a.n) tile[thread] = a.positions[first + thread];
    __syncthreads();
    const int count = min(width, a.n - first);
    for (int begin = 0; begin < count; begin += chunk) {
      const int end = min(begin + chunk, count);
      PairTotals<float, with_sums> part;
      for (int j = begin; j < end; ++j) {
        const Position other = tile[j];
        add_pair<ExactMath, kind, with_sums, true>(part, me.x, me.y, me.z, other.x, other.y,
                                                   other.z, table[type][other.type != 0],
                                                   a.field.shared, first + j == i);
      }
      total.add(part);
    }
  }
  if (!inside) return;
  write_totals<kind>(a, own, me, total);
}

}  // namespace

void launch_claret(const ForceArguments& a, int block, cudaStream_t stream) {
  const auto threads = static_cast<unsigned>(block);
  const auto blocks = (static_cast<unsigned>(a.slice.count) + threads - 1) / threads;
  const std::size_t shared = threads * sizeof(Position);
  dispatch(a.boundary, a.sums != nullptr, [&]<BoundaryKind kind, bool with_sums>() {
    claret<kind, with_sums><<<blocks, threads, shared, stream>>>(a);
  });
}

}  // namespace gpucast::mdapp::cuda
