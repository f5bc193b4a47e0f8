// y = a x + y on the GPU, checked against the same sum on the CPU.
//
// Exit status: 0 right, 1 wrong or a CUDA error, 77 (CTest: skipped) no GPU.

#include <cuda_runtime.h>

#include <cmath>
#include <cstddef>
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

constexpr int skipped = 77;

void check(cudaError_t status, const char* what) {
  if (status != cudaSuccess)
    throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(status));
}

class DeviceArray {
 public:
  explicit DeviceArray(const std::vector<float>& values) : size_(values.size()) {
    check(cudaMalloc(&data_, bytes()), "cudaMalloc");
    check(cudaMemcpy(data_, values.data(), bytes(), cudaMemcpyHostToDevice), "copy to the GPU");
  }
  ~DeviceArray() { cudaFree(data_); }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;

  float* data() { return data_; }

  std::vector<float> to_host() const {
    std::vector<float> values(size_);
    check(cudaMemcpy(values.data(), data_, bytes(), cudaMemcpyDeviceToHost), "copy from the GPU");
    return values;
  }

 private:
  std::size_t bytes() const { return size_ * sizeof(float); }

  std::size_t size_;
  float* data_ = nullptr;
};

__global__ void saxpy(int n, float a, const float* x, float* y) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) y[i] = a * x[i] + y[i];
}

bool saxpy_is_right() {
  constexpr int n = 100'003;  // no multiple of the block
  constexpr int block = 256;
  constexpr float a = 2.5F;
  std::vector<float> x(n);
  std::vector<float> y(n);
  for (int i = 0; i < n; ++i) {
    x[i] = static_cast<float>(i % 1000);
    y[i] = static_cast<float>(i % 7);
  }

  DeviceArray device_x(x);
  DeviceArray device_y(y);
  saxpy<<<(n + block - 1) / block, block>>>(n, a, device_x.data(), device_y.data());
  check(cudaGetLastError(), "launch");
  const std::vector<float> result = device_y.to_host();

  for (int i = 0; i < n; ++i) {
    const float expected = a * x[i] + y[i];
    if (!(std::abs(result[i] - expected) <= 1e-6F * std::abs(expected))) {
      std::printf("saxpy: element %d is %g, expected %g\n", i, result[i], expected);
      return false;
    }
  }
  return true;
}

}  // namespace

int main() {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    std::printf("no CUDA device: compiled, not run\n");
    return skipped;
  }
  try {
    return saxpy_is_right() ? 0 : 1;
  } catch (const std::exception& error) {
    std::printf("%s\n", error.what());
    return 1;
  }
}
