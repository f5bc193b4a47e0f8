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
#include <cstddef>
#include <cstdio>
#include <exception>
#include <functional>
#include <memory>
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

struct FreeHost {
  void operator()(void* data) const { cudaFreeHost(data); }
};
using Pinned = std::unique_ptr<void, FreeHost>;

Pinned pinned(std::size_t bytes) {
  void* data = nullptr;
  check(cudaMallocHost(&data, bytes), "cudaMallocHost");
  return Pinned(data);
}

__global__ void spin(long long cycles) {
  const long long begin = clock64();
  while (clock64() - begin < cycles) {
  }
}

void launch(double seconds, cudaStream_t stream = nullptr) {
  static const double clock_hz = [] {
    int khz = 0;
    check(cudaDeviceGetAttribute(&khz, cudaDevAttrClockRate, 0), "cudaDeviceGetAttribute");
    return 1e3 * khz;
  }();
  spin<<<1, 32, 0, stream>>>(static_cast<long long>(seconds * clock_hz));
  check(cudaGetLastError(), "launch");
}

void synchronize(cudaStream_t stream = nullptr) {
  check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
}

void pause(double seconds) {
  for (const auto begin = Clock::now(); seconds_since(begin) < seconds;) {
  }
}

// Brings the GPU to the clock that `spin` counts by.
void warm() {
  for (const auto begin = Clock::now(); seconds_since(begin) < warm_up;) {
    launch(1e-3);
    synchronize();
  }
}

// Seconds of host time.
double median_time(const std::function<void(double)>& way, double kernel) {
  std::vector<double> seconds;
  for (int i = 0; i < repetitions; ++i) {
    const auto begin = Clock::now();
    way(kernel);
    seconds.push_back(seconds_since(begin));
  }
  const auto middle = seconds.begin() + repetitions / 2;
  std::nth_element(seconds.begin(), middle, seconds.end());
  return *middle;
}

void measure() {
  const DeviceArray<char> device(bytes_up);
  const Pinned host = pinned(bytes_up);
  const Stream own = Stream::independent();
  const auto copy_down = [&] {
    check(cudaMemcpy(host.get(), device.data(), bytes_down, cudaMemcpyDeviceToHost), "cudaMemcpy");
  };
  const auto queue_copy = [&](void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
    check(cudaMemcpyAsync(to, from, bytes, kind, own.get()), "cudaMemcpyAsync");
  };
  const std::pair<const char*, std::function<void(double)>> ways[] = {
      {"sync",
       [&](double kernel) {
         launch(kernel);
         synchronize();
       }},
      {"blocking",
       [&](double kernel) {
         launch(kernel);
         copy_down();
       }},
      {"pause-blocking",
       [&](double kernel) {
         launch(kernel);
         pause(4 * us);
         copy_down();
       }},
      {"queued",
       [&](double kernel) {
         queue_copy(device.data(), host.get(), bytes_up, cudaMemcpyHostToDevice);
         launch(kernel, own.get());
         queue_copy(host.get(), device.data(), bytes_down, cudaMemcpyDeviceToHost);
         synchronize(own.get());
       }},
  };
  warm();
  std::puts("what,kernel_us,median_us");
  // Some ticks of the copy engine from the beginning, and some where the kernel is long.
  for (const auto& [first, last] : {std::pair{0.5, 44.5}, std::pair{150.0, 169.5}}) {
    for (double x = first; x <= last; x += 0.5) {
      for (const auto& [what, way] : ways) {
        std::printf("%s,%.1f,%.2f\n", what, x, median_time(way, x * us) / us);
      }
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
