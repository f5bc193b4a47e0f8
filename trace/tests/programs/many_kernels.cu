// Many tiny kernels and one wait: this shows how long launches take, and what a path saves that
// sends them without waiting. n kernels, one after the other on each GPU, change 4096 numbers.
#include <vector>

#include "program.h"

namespace gpucast::trace {
namespace {

constexpr unsigned count = 4096;
constexpr unsigned threads = 256;

// A linear congruential generator's step (Knuth's multiplier), so that order matters.
__global__ void advance(std::uint32_t* state, std::uint32_t k) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  state[i] = state[i] * 1664525U + k;
}

class ManyKernels : public Program {
 public:
  explicit ManyKernels(const Cell& cell) : launches_(static_cast<std::uint32_t>(cell.n)) {
    for (int gpu = 0; gpu < cell.gpus; ++gpu) {
      check(cudaSetDevice(gpu), "cudaSetDevice");
      states_.emplace_back(count);
    }
  }

  void step() override {
    for (std::uint32_t k = 0; k < launches_; ++k) {
      for (std::size_t gpu = 0; gpu < states_.size(); ++gpu) {
        use(gpu);
        advance<<<count / threads, threads>>>(states_[gpu].data(), k);
        check(cudaGetLastError(), "launch of advance");
      }
    }
    for (std::size_t gpu = 0; gpu < states_.size(); ++gpu) {
      use(gpu);
      check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    }
  }

  std::string wrong() override {
    for (std::size_t gpu = 0; gpu < states_.size(); ++gpu) {
      use(gpu);
      check(cudaMemset(states_[gpu].data(), 0, states_[gpu].bytes()), "cudaMemset");
    }
    step();
    std::uint32_t expected = 0;
    for (std::uint32_t k = 0; k < launches_; ++k)
      expected = expected * 1664525U + k;
    for (std::size_t gpu = 0; gpu < states_.size(); ++gpu) {
      use(gpu);
      std::vector<std::uint32_t> numbers(count);
      check(cudaMemcpy(numbers.data(), states_[gpu].data(), states_[gpu].bytes(),
                       cudaMemcpyDeviceToHost),
            "cudaMemcpy");
      if (numbers != std::vector(count, expected)) return "kernels ran out of order or not at all";
    }
    return "";
  }

 private:
  // Programs of several GPUs set the device before each call, programs of one do not.
  void use(std::size_t gpu) const {
    if (states_.size() > 1) check(cudaSetDevice(static_cast<int>(gpu)), "cudaSetDevice");
  }

  std::uint32_t launches_;
  std::vector<DeviceArray<std::uint32_t>> states_;
};

}  // namespace

std::unique_ptr<Program> make(const Cell& cell) { return std::make_unique<ManyKernels>(cell); }
const About about{.name = "many-kernels",
                  .what = "n tiny kernels, one behind the other, and one wait for them.",
                  .unit = "kernels",
                  .sizes = "20,60,200,600",
                  .most_gpus = 64};

}  // namespace gpucast::trace
