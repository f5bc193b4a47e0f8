// Training by hand-written kernels: a batch from pageable memory, forward, backward, an update of
// two layers, and the loss, which the host reads.
#include <vector>

#include "program.h"
#include "random.h"

namespace gpucast::trace {
namespace {

constexpr int batch = 64;
constexpr int inputs = 256;
constexpr float rate = 1e-3F;

// c = a b; a is rows x inner, or its transpose is stored.
__global__ void multiply(float* c, const float* a, const float* b, int rows, int inner, int columns,
                         bool transposed, float scale) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= rows * columns) return;
  const int row = i / columns;
  const int column = i % columns;
  float sum = 0;
  for (int k = 0; k < inner; ++k)
    sum += (transposed ? a[k * rows + row] : a[row * inner + k]) * b[k * columns + column];
  c[i] = scale == 0 ? sum : c[i] - scale * sum;
}

__global__ void rectify(float* values, const float* where, int count) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < count && where[i] <= 0) values[i] = 0;
}

// Outputs become their differences from the target 1.
__global__ void differ(float* outputs, float* loss) {
  outputs[threadIdx.x] -= 1;
  atomicAdd(loss, outputs[threadIdx.x] * outputs[threadIdx.x]);
}

// The gradient of the hidden values for one output.
__global__ void spread(float* hidden, const float* outputs, const float* second, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < batch * n) hidden[i] = outputs[i / n] * second[i % n];
}

class Training : public Program {
 public:
  explicit Training(const Cell& cell)
      : n_(static_cast<int>(cell.n)),
        rows_(batch * inputs),
        x_(rows_.size()),
        first_(static_cast<std::size_t>(inputs * n_)),
        second_(static_cast<std::size_t>(n_)),
        hidden_(static_cast<std::size_t>(batch * n_)),
        gradient_(hidden_.size()) {
    for (std::size_t i = 0; i < rows_.size(); ++i)
      rows_[i] = number(i, 0);
    begin();
  }

  void step() override {
    to_gpu(x_, rows_);
    check(cudaMemsetAsync(loss_.data(), 0, sizeof(float)), "cudaMemsetAsync");
    launch_multiply(hidden_, x_.data(), first_.data(), batch, inputs, n_, false, 0);
    launch_rectify(hidden_, hidden_);
    launch_multiply(outputs_, hidden_.data(), second_.data(), batch, n_, 1, false, 0);
    differ<<<1, batch>>>(outputs_.data(), loss_.data());
    check_launch("differ");
    spread<<<blocks_of(batch * n_, usual_threads), usual_threads>>>(
        gradient_.data(), outputs_.data(), second_.data(), n_);
    check_launch("spread");
    launch_rectify(gradient_, hidden_);
    launch_multiply(second_, hidden_.data(), outputs_.data(), n_, batch, 1, true, rate / batch);
    launch_multiply(first_, x_.data(), gradient_.data(), inputs, batch, n_, true, rate / batch);
    check(cudaMemcpy(&last_, loss_.data(), sizeof(float), cudaMemcpyDeviceToHost), "cudaMemcpy");
  }

  // A step along the gradient reduces the loss.
  std::string wrong() override {
    begin();
    step();
    const float before = last_;
    step();
    return last_ < before && before > 0 ? "" : "the loss does not fall";
  }

 private:
  static float number(std::size_t i, std::uint32_t seed) {
    constexpr float largest = 4294967296.0F;
    return static_cast<float>(random_of(static_cast<std::uint32_t>(i), seed)) / largest - 0.5F;
  }

  void begin() {
    std::vector<float> first(first_.size());
    std::vector<float> second(second_.size());
    for (std::size_t i = 0; i < first.size(); ++i)
      first[i] = number(i, 1) / 16;
    for (std::size_t i = 0; i < second.size(); ++i)
      second[i] = number(i, 2) / static_cast<float>(n_);
    to_gpu(first_, first);
    to_gpu(second_, second);
  }

  static void launch_multiply(const DeviceArray<float>& c, const float* a, const float* b, int rows,
                              int inner, int columns, bool transposed, float scale) {
    multiply<<<blocks_of(rows * columns, usual_threads), usual_threads>>>(
        c.data(), a, b, rows, inner, columns, transposed, scale);
    check_launch("multiply");
  }

  static void launch_rectify(const DeviceArray<float>& values, const DeviceArray<float>& where) {
    const int count = static_cast<int>(values.size());
    rectify<<<blocks_of(count, usual_threads), usual_threads>>>(values.data(), where.data(), count);
    check_launch("rectify");
  }

  int n_;
  float last_ = 0;
  std::vector<float> rows_;
  DeviceArray<float> x_, first_, second_, hidden_, gradient_, outputs_{batch}, loss_{1};
};

}  // namespace

std::unique_ptr<Program> make(const Cell& cell) { return std::make_unique<Training>(cell); }
const About about{.name = "training",
                  .what =
                      "A network of two layers with n hidden units: a batch goes to the GPU, nine "
                      "kernels, the loss comes back.",
                  .unit = "hidden units",
                  .sizes = "64,512,4096"};

}  // namespace gpucast::trace
