// What a copy waits for behind a kernel: for kernels of x us, the host time of four ways to get
// their result, medians as CSV `what,kernel_us,median_us`.
//
//   sync            launch, cudaStreamSynchronize
//   blocking        launch, blocking copy down
//   pause-blocking  launch, 4 us of nothing, blocking copy down
//   queued          copy up, launch and copy down queued on a stream, cudaStreamSynchronize
//
// Copies are those of 216 particles: 16 bytes each up, 12 down. docs/copy-waits.md says what was
// found. scripts/gpu.sh waits FOLDER builds and runs it.

#include <cuda_runtime.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdio>
#include <exception>
#include <string>
#include <utility>
#include <vector>

#include "gpucast/devices/clock.h"
#include "gpucast/devices/cuda/check.h"
#include "gpucast/devices/cuda/resources.h"

namespace {

using gpucast::devices::Clock;
using gpucast::devices::seconds_since;
using gpucast::devices::cuda::check;
using gpucast::devices::cuda::DeviceArray;
using gpucast::devices::cuda::Stream;

constexpr std::size_t bytes_up = 16 * 216;
constexpr std::size_t bytes_down = 12 * 216;
constexpr int repetitions = 60;
constexpr double us = 1e-6;
constexpr double warm_up = 1.5;  // s

class PinnedArray {
 public:
  explicit PinnedArray(std::size_t bytes) {
    check(cudaMallocHost(&data_, bytes), "cudaMallocHost");
  }
  ~PinnedArray() { cudaFreeHost(data_); }
  PinnedArray(const PinnedArray&) = delete;
  PinnedArray& operator=(const PinnedArray&) = delete;

  void* data() const { return data_; }

 private:
  void* data_ = nullptr;
};

__global__ void spin(long long cycles) {
  const long long begin = clock64();
  while (clock64() - begin < cycles) {
  }
}

void pause(double seconds) {
  const auto begin = Clock::now();
  while (seconds_since(begin) < seconds) {
  }
}

// The current GPU and what the four ways need of it.
class Bench {
 public:
  Bench() : device_(bytes_up), host_(bytes_up), stream_(Stream::independent()) {
    int khz = 0;
    check(cudaDeviceGetAttribute(&khz, cudaDevAttrClockRate, 0), "cudaDeviceGetAttribute");
    clock_hz_ = 1e3 * khz;
  }

  // Brings the GPU to the clock that `spin` counts by.
  void warm() {
    for (const auto begin = Clock::now(); seconds_since(begin) < warm_up;) {
      launch(1e-3, nullptr);
      synchronize(nullptr);
    }
  }

  void sync(double kernel) {
    launch(kernel, nullptr);
    synchronize(nullptr);
  }

  void blocking(double kernel) {
    launch(kernel, nullptr);
    copy_down();
  }

  void pause_blocking(double kernel) {
    launch(kernel, nullptr);
    pause(4 * us);
    copy_down();
  }

  void queued(double kernel) {
    cudaStream_t stream = stream_.get();
    check(cudaMemcpyAsync(device_.data(), host_.data(), bytes_up, cudaMemcpyHostToDevice, stream),
          "cudaMemcpyAsync");
    launch(kernel, stream);
    check(cudaMemcpyAsync(host_.data(), device_.data(), bytes_down, cudaMemcpyDeviceToHost, stream),
          "cudaMemcpyAsync");
    synchronize(stream);
  }

 private:
  void launch(double seconds, cudaStream_t stream) {
    spin<<<1, 32, 0, stream>>>(static_cast<long long>(seconds * clock_hz_));
    check(cudaGetLastError(), "launch");
  }

  static void synchronize(cudaStream_t stream) {
    check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
  }

  void copy_down() {
    check(cudaMemcpy(host_.data(), device_.data(), bytes_down, cudaMemcpyDeviceToHost),
          "cudaMemcpy");
  }

  DeviceArray<char> device_;
  PinnedArray host_;
  Stream stream_;
  double clock_hz_ = 0;
};

using Way = void (Bench::*)(double);
constexpr std::array<std::pair<const char*, Way>, 4> ways{{
    {"sync", &Bench::sync},
    {"blocking", &Bench::blocking},
    {"pause-blocking", &Bench::pause_blocking},
    {"queued", &Bench::queued},
}};

// Seconds of host time.
double median_time(Bench& bench, Way way, double kernel) {
  std::vector<double> seconds;
  for (int i = 0; i < repetitions; ++i) {
    const auto begin = Clock::now();
    (bench.*way)(kernel);
    seconds.push_back(seconds_since(begin));
  }
  const auto middle = seconds.begin() + repetitions / 2;
  std::nth_element(seconds.begin(), middle, seconds.end());
  return *middle;
}

// Some ticks of the copy engine from the beginning, and some where the kernel is long.
std::vector<double> kernel_times() {
  std::vector<double> result;
  for (const auto& [first, last] : {std::pair{0.5, 44.5}, std::pair{150.0, 169.5}}) {
    for (double x = first; x <= last; x += 0.5) {
      result.push_back(x * us);
    }
  }
  return result;
}

void measure() {
  Bench bench;
  bench.warm();
  std::puts("what,kernel_us,median_us");
  for (const double kernel : kernel_times()) {
    for (const auto& [what, way] : ways) {
      std::printf("%s,%.1f,%.2f\n", what, kernel / us, median_time(bench, way, kernel) / us);
    }
  }
}

}  // namespace

int main() {
  try {
    measure();
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "copy_waits: %s\n", error.what());
    return 1;
  }
}
