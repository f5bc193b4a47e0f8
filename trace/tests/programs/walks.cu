// Random walks: one long kernel, and eight bytes to pinned memory on the same stream.

#include "program.h"
#include "random.h"

namespace gpucast::trace {
namespace {

constexpr int steps_of_walk = 1000;

GPUCAST_TRACE_BOTH unsigned long long squared(std::uint32_t walk) {
  std::uint32_t state = random_of(walk, 0) | 1U;
  int place = 0;
  for (int k = 0; k < steps_of_walk; ++k) {
    state = scrambled(state, 1);
    place += (state & 1U) != 0 ? 1 : -1;
  }
  return static_cast<unsigned long long>(place) * static_cast<unsigned long long>(place);
}

__global__ void walk(unsigned long long* sum, std::int64_t n) {
  const std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(sum, squared(static_cast<std::uint32_t>(i)));
}

class Walks : public Program {
 public:
  explicit Walks(const Cell& cell) : n_(cell.n), stream_(Stream::independent()) {}

  void step() override {
    const auto stream = stream_.get();
    check(cudaMemsetAsync(sum_.data(), 0, sum_.bytes(), stream), "cudaMemsetAsync");
    walk<<<blocks_of(n_, usual_threads), usual_threads, 0, stream>>>(sum_.data(), n_);
    check_launch("walk");
    queue_to_host(seen_.data(), sum_.data(), sum_.bytes(), stream);
    check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
  }

  std::string wrong() override {
    step();
    unsigned long long expected = 0;
    for (std::int64_t i = 0; i < n_; ++i)
      expected += squared(static_cast<std::uint32_t>(i));
    return seen_[0] == expected ? "" : "the sum of squares is wrong";
  }

 private:
  std::int64_t n_;
  Stream stream_;
  DeviceArray<unsigned long long> sum_{1};
  PinnedArray<unsigned long long> seen_{1};
};

}  // namespace

std::unique_ptr<Program> make(const Cell& cell) { return std::make_unique<Walks>(cell); }
const About about{.name = "walks",
                  .what =
                      "n random walks of a thousand steps in one kernel; the mean of their squares "
                      "comes to pinned memory.",
                  .unit = "walks",
                  .sizes = "1024,65536,1048576"};

}  // namespace gpucast::trace
