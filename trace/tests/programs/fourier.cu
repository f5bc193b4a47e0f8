// A fast Fourier transform (radix 2, in place behind a bit reversal): a launch for each of log2(n)
// stages, between copies of pinned memory on one stream.
#include <bit>
#include <cmath>

#include "program.h"
#include "random.h"

namespace gpucast::trace {
namespace {

__global__ void reverse(float2* to, const float2* from, std::uint32_t n, unsigned bits) {
  const std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) to[__brev(i) >> (32 - bits)] = from[i];
}

__global__ void butterfly(float2* values, std::uint32_t n, std::uint32_t half) {
  const std::uint32_t pair = blockIdx.x * blockDim.x + threadIdx.x;
  if (pair >= n / 2) return;
  const std::uint32_t k = pair % half;
  const std::uint32_t i = 2 * (pair - k) + k;
  float sine = 0;
  float cosine = 0;
  sincospif(-static_cast<float>(k) / static_cast<float>(half), &sine, &cosine);
  const float2 one = values[i];
  const float2 other = values[i + half];
  const float2 turned{other.x * cosine - other.y * sine, other.x * sine + other.y * cosine};
  values[i] = {one.x + turned.x, one.y + turned.y};
  values[i + half] = {one.x - turned.x, one.y - turned.y};
}

class Fourier : public Program {
 public:
  explicit Fourier(const Cell& cell)
      : n_(static_cast<std::uint32_t>(cell.n)),
        stream_(Stream::independent()),
        given_(n_),
        received_(n_),
        on_gpu_(n_),
        values_(n_) {
    if (n_ < 2 || (n_ & (n_ - 1)) != 0) throw support::InputError("n must be a power of two");
    // Two waves.
    for (std::uint32_t i = 0; i < n_; ++i)
      given_[i] = {1.0F + static_cast<float>(i % 2 == 0 ? 1 : -1), 0};
  }

  void step() override {
    const auto stream = stream_.get();
    queue_to_gpu(on_gpu_.data(), given_.data(), given_.bytes(), stream);
    const auto bits = static_cast<unsigned>(std::countr_zero(n_));
    reverse<<<blocks_of(n_, usual_threads), usual_threads, 0, stream>>>(values_.data(),
                                                                        on_gpu_.data(), n_, bits);
    check_launch("reverse");
    for (std::uint32_t half = 1; half < n_; half *= 2) {
      butterfly<<<blocks_of(n_ / 2, usual_threads), usual_threads, 0, stream>>>(values_.data(), n_,
                                                                                half);
      check_launch("butterfly");
    }
    queue_to_host(received_.data(), values_.data(), values_.bytes(), stream);
    check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
  }

  std::string wrong() override {
    step();
    for (std::uint32_t i = 0; i < n_; ++i) {
      const float expected = i == 0 || i == n_ / 2 ? static_cast<float>(n_) : 0.0F;
      const float rounding = 1e-4F * static_cast<float>(n_);
      if (std::abs(received_[i].x - expected) > rounding || std::abs(received_[i].y) > rounding)
        return "frequency " + std::to_string(i) + " is wrong";
    }
    return "";
  }

 private:
  std::uint32_t n_;
  Stream stream_;
  PinnedArray<float2> given_, received_;
  DeviceArray<float2> on_gpu_, values_;
};

}  // namespace

std::unique_ptr<Program> make(const Cell& cell) { return std::make_unique<Fourier>(cell); }
const About about{.name = "fourier",
                  .what =
                      "A Fourier transform of n points, a power of two, by a launch a stage: from "
                      "pinned memory and back.",
                  .unit = "points",
                  .sizes = "4096,65536,1048576"};

}  // namespace gpucast::trace
