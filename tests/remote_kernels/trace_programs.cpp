// Kernels of the programs in trace/tests/programs for the fake driver, so that they run over remote
// GPUs where there are none.
#include <cstdint>

#include "fake/kernels.h"
#include "random.h"

namespace {

using gpucast::fake::Contents;
using gpucast::fake::kernel;
using gpucast::fake::Shape;
using gpucast::trace::random_of;
using gpucast::trace::scrambled;

// conjugate_gradients.cu

double applied(const double* v, int i, int side) {
  const int row = i / side;
  const int column = i % side;
  return 4 * v[i] - (row > 0 ? v[i - side] : 0) - (row < side - 1 ? v[i + side] : 0) -
         (column > 0 ? v[i - 1] : 0) - (column < side - 1 ? v[i + 1] : 0);
}

void apply(const Shape& /*shape*/, double* q, const double* p, int side, double* pq) {
  for (int i = 0; i < side * side; ++i) {
    q[i] = applied(p, i, side);
    *pq += p[i] * q[i];
  }
}

void descend(const Shape& /*shape*/, double* x, double* r, const double* p, const double* q, int n,
             const double* rr, const double* pq, double* next_rr) {
  for (int i = 0; i < n; ++i) {
    x[i] += *rr / *pq * p[i];
    r[i] -= *rr / *pq * q[i];
    *next_rr += r[i] * r[i];
  }
}

void turn(const Shape& /*shape*/, double* p, const double* r, int n, const double* rr,
          const double* next_rr) {
  for (int i = 0; i < n; ++i)
    p[i] = r[i] + *next_rr / *rr * p[i];
}

// graph.cu

void scramble_once(const Shape& shape, std::uint32_t* data) {
  for (std::size_t i = 0; i < shape.threads(); ++i)
    data[i] = scrambled(data[i], 1);
}

// halo_exchange.cu

void relax(const Shape& /*shape*/, double* next, const double* now, int rows, int side) {
  for (int i = side; i < (rows + 1) * side; ++i) {
    if (i % side == 0 || i % side == side - 1) continue;
    next[i] = 0.25 * (now[i - side] + now[i + side] + now[i - 1] + now[i + 1]);
  }
}

// histogram.cu

void count(const Shape& shape, unsigned* counts, std::int64_t n, std::uint32_t seed) {
  for (std::int64_t i = 0; i < n; ++i)
    ++counts[random_of(static_cast<std::uint32_t>(i), seed) % shape.block[0]];
}

// many_kernels.cu

void advance(const Shape& shape, std::uint32_t* state, std::uint32_t k) {
  for (std::size_t i = 0; i < shape.threads(); ++i)
    state[i] = state[i] * 1664525U + k;
}

// pageable_copies.cu

void add_one(const Shape& /*shape*/, unsigned char* data, std::int64_t bytes) {
  for (std::int64_t i = 0; i < bytes; ++i)
    ++data[i];
}

// pipeline.cu

void work(const Shape& /*shape*/, std::uint32_t* out, const std::uint32_t* in, std::int64_t n) {
  constexpr std::int64_t rounds = 256;
  for (std::int64_t i = 0; i < n; ++i)
    out[i] = scrambled(in[i], rounds);
}

// streams.cu

void scramble(const Shape& shape, std::uint32_t* data, std::int64_t rounds) {
  for (std::size_t i = 0; i < shape.threads(); ++i)
    data[i] = scrambled(data[i], rounds);
}

}  // namespace

extern "C" __attribute__((visibility("default"))) void gpucast_fake_contents(Contents& contents) {
  contents.kernels.push_back(kernel("apply", apply));
  contents.kernels.push_back(kernel("descend", descend));
  contents.kernels.push_back(kernel("turn", turn));
  contents.kernels.push_back(kernel("scramble_once", scramble_once));
  contents.kernels.push_back(kernel("relax", relax));
  contents.kernels.push_back(kernel("count", count));
  contents.kernels.push_back(kernel("advance", advance));
  contents.kernels.push_back(kernel("add_one", add_one));
  contents.kernels.push_back(kernel("work", work));
  contents.kernels.push_back(kernel("scramble", scramble));
}
