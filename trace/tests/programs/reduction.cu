// Sums in two stages. The host reads each sum, eight bytes, before it starts the next, which
// depends on it.
#include <algorithm>
#include <vector>

#include "program.h"
#include "random.h"

namespace gpucast::trace {
namespace {

constexpr unsigned most_blocks = 512;
constexpr int sums = 3;

__global__ void add_up(unsigned long long* sums_of_blocks, const std::uint32_t* numbers,
                       std::int64_t n, unsigned long long mask) {
  __shared__ unsigned long long own[usual_threads];
  unsigned long long sum = 0;
  const std::int64_t stride = std::int64_t{gridDim.x} * blockDim.x;
  for (std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += stride)
    sum += numbers[i] ^ mask;
  own[threadIdx.x] = sum;
  for (unsigned half = usual_threads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) own[threadIdx.x] += own[threadIdx.x + half];
  }
  if (threadIdx.x == 0) sums_of_blocks[blockIdx.x] = own[0];
}

__global__ void add_blocks(unsigned long long* sum, const unsigned long long* sums_of_blocks,
                           unsigned blocks) {
  *sum = 0;
  for (unsigned block = 0; block < blocks; ++block)
    *sum += sums_of_blocks[block];
}

class Reduction : public Program {
 public:
  explicit Reduction(const Cell& cell)
      : numbers_(static_cast<std::size_t>(cell.n)), on_gpu_(numbers_.size()) {
    for (std::size_t i = 0; i < numbers_.size(); ++i)
      numbers_[i] = random_of(static_cast<std::uint32_t>(i), 0);
    to_gpu(on_gpu_, numbers_);
  }

  void step() override {
    mask_ = 0;
    const auto n = static_cast<std::int64_t>(numbers_.size());
    const unsigned blocks = std::min(blocks_of(n, usual_threads), most_blocks);
    for (int k = 0; k < sums; ++k) {
      add_up<<<blocks, usual_threads>>>(of_blocks_.data(), on_gpu_.data(), n, mask_);
      check_launch("add_up");
      add_blocks<<<1, 1>>>(sum_.data(), of_blocks_.data(), blocks);
      check_launch("add_blocks");
      check(cudaMemcpy(&mask_, sum_.data(), sizeof(mask_), cudaMemcpyDeviceToHost), "cudaMemcpy");
    }
  }

  std::string wrong() override {
    step();
    unsigned long long expected = 0;
    for (int k = 0; k < sums; ++k) {
      unsigned long long sum = 0;
      for (const std::uint32_t number : numbers_)
        sum += number ^ expected;
      expected = sum;
    }
    return mask_ == expected ? "" : "the last sum is wrong";
  }

 private:
  unsigned long long mask_ = 0;
  std::vector<std::uint32_t> numbers_;
  DeviceArray<std::uint32_t> on_gpu_;
  DeviceArray<unsigned long long> of_blocks_{most_blocks}, sum_{1};
};

}  // namespace

std::unique_ptr<Program> make(const Cell& cell) { return std::make_unique<Reduction>(cell); }
const About about{
    .name = "reduction",
    .what = "Sums of n numbers, three in a row; the host reads each before it asks for the next.",
    .unit = "numbers",
    .sizes = "4096,1048576,33554432"};

}  // namespace gpucast::trace
