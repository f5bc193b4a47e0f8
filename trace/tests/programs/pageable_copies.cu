// Blocking copies of pageable memory: n bytes are copied to the GPU, a kernel changes them, and
// they are copied back. The times over n show how drivers and networks stage them.
#include <vector>

#include "program.h"
#include "random.h"

namespace gpucast::trace {
namespace {

using Byte = unsigned char;

constexpr unsigned threads = 256;

__global__ void add_one(Byte* data, std::int64_t bytes) {
  const std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < bytes) data[i] = static_cast<Byte>(data[i] + 1);
}

class PageableCopies : public Program {
 public:
  explicit PageableCopies(const Cell& cell)
      : sent_(static_cast<std::size_t>(cell.n)), received_(sent_.size()), on_gpu_(sent_.size()) {
    for (std::size_t k = 0; k < sent_.size(); ++k)
      sent_[k] = static_cast<Byte>(random_of(static_cast<std::uint32_t>(k), 0));
  }

  void step() override {
    const auto bytes = static_cast<std::int64_t>(sent_.size());
    check(cudaMemcpy(on_gpu_.data(), sent_.data(), sent_.size(), cudaMemcpyHostToDevice),
          "cudaMemcpy");
    add_one<<<blocks_of(bytes, threads), threads>>>(on_gpu_.data(), bytes);
    check(cudaGetLastError(), "launch of add_one");
    check(cudaMemcpy(received_.data(), on_gpu_.data(), sent_.size(), cudaMemcpyDeviceToHost),
          "cudaMemcpy");
  }

  std::string wrong() override {
    received_.assign(received_.size(), 0);
    step();
    for (std::size_t k = 0; k < sent_.size(); ++k)
      if (received_[k] != static_cast<Byte>(sent_[k] + 1))
        return "byte " + std::to_string(k) + " did not come back as it should";
    return "";
  }

 private:
  std::vector<Byte> sent_, received_;
  DeviceArray<Byte> on_gpu_;
};

}  // namespace

std::unique_ptr<Program> make(const Cell& cell) { return std::make_unique<PageableCopies>(cell); }
const About about{.name = "pageable-copies",
                  .what = "n bytes of pageable memory to the GPU, a kernel, and back.",
                  .unit = "bytes",
                  .sizes = "4,16384,262144,4194304,67108864"};

}  // namespace gpucast::trace
