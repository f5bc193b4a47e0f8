// A Monte Carlo loop: n random numbers are counted into bins on the GPU, the counts are copied to
// pinned memory, and the host derives the next seed from them. It waits for an event, or polls it.
#include <algorithm>
#include <array>

#include "program.h"
#include "random.h"

namespace gpucast::trace {
namespace {

constexpr unsigned bins = 256;
constexpr unsigned threads = 256;
constexpr unsigned most_blocks = 1024;

__global__ void count(unsigned* counts, std::int64_t n, std::uint32_t seed) {
  __shared__ unsigned mine[bins];
  mine[threadIdx.x] = 0;
  __syncthreads();
  const std::int64_t stride = std::int64_t{gridDim.x} * blockDim.x;
  for (std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += stride)
    atomicAdd(&mine[random_of(static_cast<std::uint32_t>(i), seed) % bins], 1U);
  __syncthreads();
  atomicAdd(&counts[threadIdx.x], mine[threadIdx.x]);
}

class Histogram : public Program {
 public:
  explicit Histogram(const Cell& cell)
      : n_(cell.n), polls_(cell.setting == "poll"), stream_(Stream::independent()) {}

  void step() override {
    check(cudaMemsetAsync(counts_.data(), 0, counts_.bytes(), stream_.get()), "cudaMemsetAsync");
    count<<<std::min(blocks_of(n_, threads), most_blocks), threads, 0, stream_.get()>>>(
        counts_.data(), n_, seed_);
    check(cudaGetLastError(), "launch of count");
    queue_to_host(received_.data(), counts_.data(), counts_.bytes(), stream_.get());
    counted_.record(stream_.get());
    wait();
    for (std::uint32_t bin = 0; bin < bins; ++bin)
      seed_ = seed_ * 31 + received_[bin];
  }

  std::string wrong() override {
    constexpr std::uint32_t seed = 1;
    seed_ = seed;
    step();
    std::array<unsigned, bins> expected{};
    for (std::int64_t i = 0; i < n_; ++i)
      ++expected.at(random_of(static_cast<std::uint32_t>(i), seed) % bins);
    for (std::uint32_t bin = 0; bin < bins; ++bin)
      if (received_[bin] != expected.at(bin))
        return "bin " + std::to_string(bin) + " is miscounted";
    return "";
  }

 private:
  void wait() {
    if (!polls_) {
      counted_.wait();
      return;
    }
    cudaError_t status = cudaErrorNotReady;
    while (status == cudaErrorNotReady)
      status = cudaEventQuery(counted_.get());
    cudaGetLastError();  // or "not ready" would be the next launch's error
    check(status, "cudaEventQuery");
  }

  std::int64_t n_;
  bool polls_;
  std::uint32_t seed_ = 1;
  Stream stream_;
  Event counted_{cudaEventDisableTiming};
  DeviceArray<unsigned> counts_{bins};
  PinnedArray<unsigned> received_{bins};
};

}  // namespace

std::unique_ptr<Program> make(const Cell& cell) { return std::make_unique<Histogram>(cell); }
const About about{
    .name = "histogram",
    .what =
        "n random numbers counted on the GPU; the host waits for the counts (case wait) "
        "or asks for them again and again (poll).",
    .unit = "numbers",
    .sizes = "4096,1048576,16777216",
    .settings = {"wait", "poll"}};

}  // namespace gpucast::trace
