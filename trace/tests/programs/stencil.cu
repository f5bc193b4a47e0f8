// Heat on a grid: twenty sweeps alternate between two arrays, then the sum of changes, for which
// the host waits by an event.
#include <algorithm>
#include <vector>

#include "program.h"
#include "random.h"

namespace gpucast::trace {
namespace {

constexpr int sweeps = 20;

__global__ void sweep(float* to, const float* from, int side) {
  const int x = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  const int y = static_cast<int>(blockIdx.y);
  if (x >= side) return;
  const int i = y * side + x;
  const bool edge = x == 0 || y == 0 || x == side - 1 || y == side - 1;
  to[i] = edge ? from[i] : 0.25F * (from[i - 1] + from[i + 1] + from[i - side] + from[i + side]);
}

__global__ void measure(double* change, const float* one, const float* other, std::int64_t n) {
  double sum = 0;
  const std::int64_t stride = std::int64_t{gridDim.x} * blockDim.x;
  for (std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += stride)
    sum += fabs(static_cast<double>(one[i]) - static_cast<double>(other[i]));
  atomicAdd(change, sum);
}

class Stencil : public Program {
 public:
  explicit Stencil(const Cell& cell)
      : n_(cell.n),
        side_(side_of(cell.n, 3)),
        stream_(Stream::independent()),
        grid_(static_cast<std::size_t>(n_)),
        other_(grid_.size()) {
    begin();
  }

  void step() override {
    const auto stream = stream_.get();
    check(cudaMemsetAsync(change_.data(), 0, change_.bytes(), stream), "cudaMemsetAsync");
    const dim3 blocks(blocks_of(side_, usual_threads), static_cast<unsigned>(side_));
    for (int k = 0; k < sweeps; ++k) {
      const bool even = k % 2 == 0;
      sweep<<<blocks, usual_threads, 0, stream>>>(even ? other_.data() : grid_.data(),
                                                  even ? grid_.data() : other_.data(), side_);
      check_launch("sweep");
    }
    constexpr unsigned most_blocks = 256;
    measure<<<std::min(blocks_of(n_, usual_threads), most_blocks), usual_threads, 0, stream>>>(
        change_.data(), grid_.data(), other_.data(), n_);
    check_launch("measure");
    queue_to_host(seen_.data(), change_.data(), change_.bytes(), stream);
    measured_.record(stream);
    measured_.wait();
  }

  std::string wrong() override {
    begin();
    step();
    std::vector<float> expected = start();
    std::vector<float> before;
    for (int k = 0; k < sweeps; ++k) {
      before = expected;
      for (int y = 1; y < side_ - 1; ++y) {
        for (int x = 1; x < side_ - 1; ++x) {
          const auto i = static_cast<std::size_t>(y * side_ + x);
          const auto side = static_cast<std::size_t>(side_);
          expected[i] =
              0.25F * (before[i - 1] + before[i + 1] + before[i - side] + before[i + side]);
        }
      }
    }
    std::vector<float> grid(grid_.size());
    to_host(grid, grid_);
    return grid == expected && seen_[0] > 0 ? "" : "the grid is wrong";
  }

 private:
  std::vector<float> start() const {
    std::vector<float> values(grid_.size());
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = static_cast<float>(random_of(static_cast<std::uint32_t>(i), 0) % 1024U);
    return values;
  }
  void begin() {
    to_gpu(grid_, start());
    to_gpu(other_, start());
  }

  std::int64_t n_;
  int side_;
  Stream stream_;
  Event measured_{cudaEventDisableTiming};
  DeviceArray<float> grid_, other_;
  DeviceArray<double> change_{1};
  PinnedArray<double> seen_{1};
};

}  // namespace

std::unique_ptr<Program> make(const Cell& cell) { return std::make_unique<Stencil>(cell); }
const About about{.name = "stencil",
                  .what =
                      "Twenty sweeps over a square grid of n points; what they change comes to "
                      "pinned memory, behind an event.",
                  .unit = "points",
                  .sizes = "16384,1048576,16777216"};

}  // namespace gpucast::trace
