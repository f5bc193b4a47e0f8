// Four streams and the legacy default stream. If the streams are non-blocking, all kernels of a
// step overlap; if they are blocking, the default stream's kernel waits for them, and they for it.
#include <array>
#include <vector>

#include "program.h"
#include "random.h"

namespace gpucast::trace {
namespace {

constexpr unsigned count =
    1024;  // numbers per stream: few blocks, so that kernels fit side by side
constexpr unsigned threads = 128;
constexpr std::size_t streams = 4;

__global__ void scramble(std::uint32_t* data, std::int64_t rounds) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  data[i] = scrambled(data[i], rounds);
}

class Streams : public Program {
 public:
  explicit Streams(const Cell& cell) : rounds_(cell.n) {
    for (auto& stream : streams_)
      stream = cell.setting == "blocking" ? Stream::blocking() : Stream::independent();
    for (std::size_t k = 0; k <= streams; ++k)
      data_.emplace_back(count);
    begin();
  }

  // A kernel on each stream, one on the default stream, and one more on each stream.
  void step() override {
    launch_on_each();
    launch(streams, nullptr);
    launch_on_each();
    check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  }

  std::string wrong() override {
    begin();
    step();
    for (std::size_t k = 0; k <= streams; ++k) {
      std::vector<std::uint32_t> numbers(count);
      check(cudaMemcpy(numbers.data(), data_[k].data(), data_[k].bytes(), cudaMemcpyDeviceToHost),
            "cudaMemcpy");
      constexpr std::uint32_t every = 31;  // only some are checked: the host is slow
      for (std::uint32_t i = 0; i < count; i += every)
        if (numbers[i] != scrambled(i + 1, k < streams ? 2 * rounds_ : rounds_))
          return "number " + std::to_string(i) + " of stream " + std::to_string(k);
    }
    return "";
  }

 private:
  void begin() {
    std::vector<std::uint32_t> numbers(count);
    for (std::uint32_t i = 0; i < count; ++i)
      numbers[i] = i + 1;
    for (const auto& data : data_) {
      check(cudaMemcpy(data.data(), numbers.data(), data.bytes(), cudaMemcpyHostToDevice),
            "cudaMemcpy");
    }
    check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  }
  void launch(std::size_t k, cudaStream_t stream) {
    scramble<<<count / threads, threads, 0, stream>>>(data_[k].data(), rounds_);
    check(cudaGetLastError(), "launch of scramble");
  }
  void launch_on_each() {
    for (std::size_t k = 0; k < streams; ++k)
      launch(k, streams_.at(k).get());
  }

  std::int64_t rounds_;
  std::array<Stream, streams> streams_;
  std::vector<DeviceArray<std::uint32_t>> data_;  // of each stream, then of the default one
};

}  // namespace

std::unique_ptr<Program> make(const Cell& cell) { return std::make_unique<Streams>(cell); }
const About about{
    .name = "streams",
    .what =
        "Kernels of n rounds on four streams, blocking or non-blocking, and on the legacy "
        "default stream between them.",
    .unit = "rounds",
    .sizes = "500,5000,50000",
    .settings = {"blocking", "non-blocking"}};

}  // namespace gpucast::trace
