// A bitonic sort: a launch for each of log2(n) (log2(n) + 1) / 2 stages, and one read at the end.
#include <algorithm>
#include <vector>

#include "program.h"
#include "random.h"

namespace gpucast::trace {
namespace {

constexpr std::size_t read = 8;

__global__ void fill(std::uint32_t* keys, std::uint32_t n) {
  const std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) keys[i] = random_of(i, 0);
}

__global__ void exchange(std::uint32_t* keys, std::uint32_t n, std::uint32_t run,
                         std::uint32_t distance) {
  const std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  const std::uint32_t other = i ^ distance;
  if (i >= n || other <= i) return;
  const std::uint32_t low = keys[i];
  const std::uint32_t high = keys[other];
  if ((low > high) == ((i & run) == 0)) {
    keys[i] = high;
    keys[other] = low;
  }
}

class BitonicSort : public Program {
 public:
  explicit BitonicSort(const Cell& cell)
      : n_(static_cast<std::uint32_t>(cell.n)), keys_(n_), smallest_(read) {
    if (n_ < read || (n_ & (n_ - 1)) != 0) throw support::InputError("n must be a power of two");
  }

  void step() override {
    const unsigned blocks = blocks_of(n_, usual_threads);
    fill<<<blocks, usual_threads>>>(keys_.data(), n_);
    check_launch("fill");
    for (std::uint32_t run = 2; run <= n_; run *= 2) {
      for (std::uint32_t distance = run / 2; distance > 0; distance /= 2) {
        exchange<<<blocks, usual_threads>>>(keys_.data(), n_, run, distance);
        check_launch("exchange");
      }
    }
    to_host(smallest_, keys_);
  }

  std::string wrong() override {
    step();
    std::vector<std::uint32_t> expected(n_);
    for (std::uint32_t i = 0; i < n_; ++i)
      expected[i] = random_of(i, 0);
    std::ranges::sort(expected);
    std::vector<std::uint32_t> sorted(n_);
    to_host(sorted, keys_);
    return sorted == expected ? "" : "keys are not sorted";
  }

 private:
  std::uint32_t n_;
  DeviceArray<std::uint32_t> keys_;
  std::vector<std::uint32_t> smallest_;
};

}  // namespace

std::unique_ptr<Program> make(const Cell& cell) { return std::make_unique<BitonicSort>(cell); }
const About about{.name = "sort",
                  .what =
                      "n keys, a power of two, sorted by a launch for each stage; the host reads "
                      "eight of them.",
                  .unit = "keys",
                  .sizes = "4096,65536,1048576"};

}  // namespace gpucast::trace
