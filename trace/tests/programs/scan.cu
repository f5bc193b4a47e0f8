// Prefix sums: numbers come from pageable memory, three kernels, sums go back.
#include <numeric>
#include <vector>

#include "program.h"
#include "random.h"

namespace gpucast::trace {
namespace {

using Number = std::uint32_t;

// Sums within each block, and each block's sum.
__global__ void scan_blocks(Number* sums, Number* of_blocks, const Number* numbers, unsigned n) {
  __shared__ Number own[usual_threads];
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  own[threadIdx.x] = i < n ? numbers[i] : 0;
  for (unsigned distance = 1; distance < usual_threads; distance *= 2) {
    __syncthreads();
    const Number earlier = threadIdx.x >= distance ? own[threadIdx.x - distance] : 0;
    __syncthreads();
    own[threadIdx.x] += earlier;
  }
  if (i < n) sums[i] = own[threadIdx.x];
  if (threadIdx.x == usual_threads - 1) of_blocks[blockIdx.x] = own[threadIdx.x];
}

__global__ void scan_sums(Number* of_blocks, unsigned blocks) {
  Number sum = 0;
  for (unsigned block = 0; block < blocks; ++block) {
    const Number own = of_blocks[block];
    of_blocks[block] = sum;
    sum += own;
  }
}

__global__ void add_sums(Number* sums, const Number* of_blocks, unsigned n) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) sums[i] += of_blocks[blockIdx.x];
}

class PrefixSums : public Program {
 public:
  explicit PrefixSums(const Cell& cell)
      : numbers_(static_cast<std::size_t>(cell.n)),
        received_(numbers_.size()),
        on_gpu_(numbers_.size()),
        sums_(numbers_.size()),
        of_blocks_(blocks_of(cell.n, usual_threads)) {
    for (std::size_t i = 0; i < numbers_.size(); ++i)
      numbers_[i] = random_of(static_cast<std::uint32_t>(i), 0);
  }

  void step() override {
    const auto n = static_cast<unsigned>(numbers_.size());
    const auto blocks = static_cast<unsigned>(of_blocks_.size());
    to_gpu(on_gpu_, numbers_);
    scan_blocks<<<blocks, usual_threads>>>(sums_.data(), of_blocks_.data(), on_gpu_.data(), n);
    check_launch("scan_blocks");
    scan_sums<<<1, 1>>>(of_blocks_.data(), blocks);
    check_launch("scan_sums");
    add_sums<<<blocks, usual_threads>>>(sums_.data(), of_blocks_.data(), n);
    check_launch("add_sums");
    to_host(received_, sums_);
  }

  std::string wrong() override {
    step();
    std::vector<Number> expected(numbers_.size());
    std::partial_sum(numbers_.begin(), numbers_.end(), expected.begin());
    return received_ == expected ? "" : "a sum is wrong";
  }

 private:
  std::vector<Number> numbers_, received_;
  DeviceArray<Number> on_gpu_, sums_, of_blocks_;
};

}  // namespace

std::unique_ptr<Program> make(const Cell& cell) { return std::make_unique<PrefixSums>(cell); }
const About about{
    .name = "scan",
    .what = "Prefix sums of n numbers from pageable memory and back, by three kernels.",
    .unit = "numbers",
    .sizes = "16384,262144,1048576"};

}  // namespace gpucast::trace
