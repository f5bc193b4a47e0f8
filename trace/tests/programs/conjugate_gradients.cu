// Conjugate gradients (Hestenes and Stiefel 1952) for the 5-point Laplacian on a square grid of n
// unknowns. Like many programs, it reads the residual back in every iteration, to check for
// convergence. A step is the first eight iterations from the same start.
#include <cmath>
#include <vector>

#include "program.h"
#include "random.h"

namespace gpucast::trace {
namespace {

constexpr std::size_t iterations = 8;
constexpr unsigned threads = 256;  // of a block

// Adds the values of all threads to *sum.
__device__ void add_up(double value, double* sum) {
  __shared__ double parts[threads];
  parts[threadIdx.x] = value;
  for (unsigned half = threads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) parts[threadIdx.x] += parts[threadIdx.x + half];
  }
  if (threadIdx.x == 0) atomicAdd(sum, parts[0]);
}

// (A v)[i] of a grid whose border is 0.
__host__ __device__ double applied(const double* v, int i, int side) {
  const int row = i / side;
  const int column = i % side;
  double result = 4 * v[i];
  if (row > 0) result -= v[i - side];
  if (row < side - 1) result -= v[i + side];
  if (column > 0) result -= v[i - 1];
  if (column < side - 1) result -= v[i + 1];
  return result;
}

// q = A p, and p.q
__global__ void apply(double* q, const double* p, int side, double* pq) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  double product = 0;
  if (i < side * side) {
    q[i] = applied(p, i, side);
    product = p[i] * q[i];
  }
  add_up(product, pq);
}

// x += a p, r -= a q with a = r.r / p.q, and the new r.r
__global__ void descend(double* x, double* r, const double* p, const double* q, int n,
                        const double* rr, const double* pq, double* next_rr) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  double square = 0;
  if (i < n) {
    const double a = *rr / *pq;
    x[i] += a * p[i];
    r[i] -= a * q[i];
    square = r[i] * r[i];
  }
  add_up(square, next_rr);
}

// p = r + b p with b = new r.r / old r.r
__global__ void turn(double* p, const double* r, int n, const double* rr, const double* next_rr) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) p[i] = r[i] + *next_rr / *rr * p[i];
}

class ConjugateGradients : public Program {
 public:
  explicit ConjugateGradients(const Cell& cell)
      : side_(side_of(cell.n, 16)), n_(side_ * side_), right_(static_cast<std::size_t>(n_)) {
    for (std::size_t k = 0; k < right_.size(); ++k) {
      right_[k] = std::ldexp(random_of(static_cast<std::uint32_t>(k), 0), -32);
      square_ += right_[k] * right_[k];
    }
    check(cudaMemcpy(b_.data(), right_.data(), b_.bytes(), cudaMemcpyHostToDevice), "cudaMemcpy");
    check(cudaMemcpy(bb_.data(), &square_, sizeof square_, cudaMemcpyHostToDevice), "cudaMemcpy");
  }

  void step() override {
    begin();
    const unsigned blocks = blocks_of(n_, threads);
    for (std::size_t k = 0; k < iterations; ++k) {
      double* const rr = rr_.data() + k;
      apply<<<blocks, threads>>>(q_.data(), p_.data(), side_, pq_.data() + k);
      descend<<<blocks, threads>>>(x_.data(), r_.data(), p_.data(), q_.data(), n_, rr,
                                   pq_.data() + k, rr + 1);
      check(cudaGetLastError(), "launch of descend");
      check(cudaMemcpy(&residual_, rr + 1, sizeof residual_, cudaMemcpyDeviceToHost), "cudaMemcpy");
      if (!(residual_ > 0)) break;  // solved to the last bit
      turn<<<blocks, threads>>>(p_.data(), r_.data(), n_, rr, rr + 1);
      check(cudaGetLastError(), "launch of turn");
    }
  }

  // The residual that the recurrence gave is that of its x; and x minimizes the energy
  // x.Ax/2 - b.x further than the start, where it is 0.
  std::string wrong() override {
    step();
    std::vector<double> x(right_.size());
    check(cudaMemcpy(x.data(), x_.data(), x_.bytes(), cudaMemcpyDeviceToHost), "cudaMemcpy");
    double square = 0;
    double energy = 0;
    for (int i = 0; i < n_; ++i) {
      const auto k = static_cast<std::size_t>(i);
      const double ax = applied(x.data(), i, side_);
      square += (right_[k] - ax) * (right_[k] - ax);
      energy += x[k] * (ax / 2 - right_[k]);
    }
    constexpr double rounding = 1e-10;
    if (!(std::abs(square - residual_) <= rounding * square_))
      return "the residual is not that of x";
    return energy < 0 ? "" : "x is no better than the start";
  }

 private:
  // x = 0, r = p = b
  void begin() {
    const auto copy = [](DeviceArray<double>& to, const DeviceArray<double>& from) {
      check(
          cudaMemcpyAsync(to.data(), from.data(), from.bytes(), cudaMemcpyDeviceToDevice, nullptr),
          "cudaMemcpyAsync");
    };
    check(cudaMemsetAsync(x_.data(), 0, x_.bytes(), nullptr), "cudaMemsetAsync");
    check(cudaMemsetAsync(pq_.data(), 0, pq_.bytes(), nullptr), "cudaMemsetAsync");
    check(cudaMemsetAsync(rr_.data(), 0, rr_.bytes(), nullptr), "cudaMemsetAsync");
    copy(rr_, bb_);
    copy(r_, b_);
    copy(p_, b_);
  }

  int side_, n_;
  std::vector<double> right_;  // b
  double square_ = 0;          // b.b
  double residual_ = 0;        // r.r, as read back
  DeviceArray<double> b_{right_.size()}, x_{right_.size()}, r_{right_.size()}, p_{right_.size()},
      q_{right_.size()};
  DeviceArray<double> bb_{1}, rr_{iterations + 1}, pq_{iterations};  // of each iteration
};

}  // namespace

std::unique_ptr<Program> make(const Cell& cell) {
  return std::make_unique<ConjugateGradients>(cell);
}
const About about{
    .name = "conjugate-gradients",
    .what =
        "Eight iterations of conjugate gradients on a grid of n unknowns; each reads the "
        "residual back.",
    .unit = "unknowns",
    .sizes = "1024,16384,262144,4194304"};

}  // namespace gpucast::trace
