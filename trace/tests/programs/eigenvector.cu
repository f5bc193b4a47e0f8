// The power method: a product with a sparse matrix and a norm, which the host reads, five times;
// then one asynchronous copy of it all to pageable memory of 4 KiB.
#include <cmath>
#include <vector>

#include "program.h"
#include "random.h"

namespace gpucast::trace {
namespace {

constexpr std::uint32_t entries = 5;
constexpr int iterations = 5;
constexpr std::size_t looked_at = 512;

// Row i has 2 at i, and 1 at four other places.
__global__ void multiply(double* to, const double* from, std::uint32_t n, double scale) {
  const std::uint32_t row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= n) return;
  double sum = 2 * from[row];
  for (std::uint32_t entry = 1; entry < entries; ++entry)
    sum += from[(row + entry * entry) % n];
  to[row] = scale * sum;
}

__global__ void add_squares(double* sum, const double* values, std::uint32_t n) {
  const std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  double own = i < n ? values[i] * values[i] : 0;
  for (int distance = 16; distance > 0; distance /= 2)
    own += __shfl_down_sync(0xffffffffU, own, static_cast<unsigned>(distance));
  if (threadIdx.x % 32 == 0) atomicAdd(sum, own);
}

class Eigenvector : public Program {
 public:
  explicit Eigenvector(const Cell& cell)
      : n_(static_cast<std::uint32_t>(cell.n)), vector_(n_), product_(n_), seen_(looked_at) {
    if (n_ < looked_at) throw support::InputError("n must be at least 512");
    to_gpu(vector_, std::vector<double>(n_, 1.0));
  }

  void step() override {
    const unsigned blocks = blocks_of(n_, usual_threads);
    double scale = 1;
    for (int k = 0; k < iterations; ++k) {
      const bool even = k % 2 == 0;
      double* const to = even ? product_.data() : vector_.data();
      multiply<<<blocks, usual_threads>>>(to, even ? vector_.data() : product_.data(), n_, scale);
      check_launch("multiply");
      check(cudaMemset(norm_.data(), 0, sizeof(double)), "cudaMemset");
      add_squares<<<blocks, usual_threads>>>(norm_.data(), to, n_);
      check_launch("add_squares");
      check(cudaMemcpy(&last_, norm_.data(), sizeof(double), cudaMemcpyDeviceToHost), "cudaMemcpy");
      value_ = std::sqrt(last_ / n_);
      scale = 1 / value_;
    }
    queue_to_host(seen_.data(), product_.data(), looked_at * sizeof(double), nullptr);
    check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  }

  // Rows add up to 6, so that the constant vector is an eigenvector of the value 6.
  std::string wrong() override {
    to_gpu(vector_, std::vector<double>(n_, 1.0));
    step();
    constexpr double rounding = 1e-9;
    return std::abs(value_ - 6) < rounding && seen_[0] > 0 ? "" : "the value is not 6";
  }

 private:
  std::uint32_t n_;
  double last_ = 0;
  double value_ = 0;
  DeviceArray<double> vector_, product_, norm_{1};
  std::vector<double> seen_;
};

}  // namespace

std::unique_ptr<Program> make(const Cell& cell) { return std::make_unique<Eigenvector>(cell); }
const About about{.name = "eigenvector",
                  .what =
                      "Five iterations of the power method with a sparse matrix of n rows; the "
                      "host reads each norm.",
                  .unit = "rows",
                  .sizes = "1024,262144,4194304"};

}  // namespace gpucast::trace
