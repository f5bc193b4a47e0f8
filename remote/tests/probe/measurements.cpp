#include "measurements.h"

#include <cuda_runtime.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <functional>

#include "checks.h"
#include "gpucast/devices/cuda/resources.h"
#include "kernels.h"

namespace gpucast::probe {
namespace {

using devices::cuda::DeviceArray;
using Clock = std::chrono::steady_clock;

constexpr std::size_t small = 64;  // bytes

double seconds_of(const std::function<void()>& call) {
  const auto begin = Clock::now();
  call();
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

double median_of(
    int count, const std::function<void()>& call, const std::function<void()>& between = [] {}) {
  std::vector<double> all;
  for (int k = 0; k < count + count / 10; ++k) {
    const double taken = seconds_of(call);
    if (k >= count / 10) all.push_back(taken);  // the first ones warm up
    between();
  }
  std::ranges::nth_element(all, all.begin() + count / 2);
  return all[static_cast<std::size_t>(count / 2)];
}

void wait() { require(cudaDeviceSynchronize(), "cudaDeviceSynchronize"); }

}  // namespace

void print_copies(const std::vector<std::size_t>& sizes, int times) {
  const std::size_t most = *std::ranges::max_element(sizes);
  const DeviceArray<std::byte> on_device(most);
  void* pinned = nullptr;
  require(cudaMallocHost(&pinned, most), "cudaMallocHost");
  for (const bool up : {true, false}) {
    for (const std::size_t bytes : sizes) {
      std::printf("{\"route\": \"%s\", \"bytes\": %zu, \"seconds\": [", up ? "h2d" : "d2h", bytes);
      for (int k = -1; k < times; ++k) {  // the first one is not printed
        const double taken = seconds_of([&] {
          require(up ? cudaMemcpy(on_device.data(), pinned, bytes, cudaMemcpyHostToDevice)
                     : cudaMemcpy(pinned, on_device.data(), bytes, cudaMemcpyDeviceToHost),
                  "cudaMemcpy");
        });
        if (k >= 0) std::printf("%s%.9g", k == 0 ? "" : ", ", taken);
      }
      std::printf("]}\n");
    }
  }
  require(cudaFreeHost(pinned), "cudaFreeHost");
}

Figures measure_calls(std::size_t bytes) {
  const DeviceArray<std::byte> on_device(bytes);
  std::array<std::byte, small> message{};
  void* pinned = nullptr;
  require(cudaMallocHost(&pinned, bytes), "cudaMallocHost");
  Figures result;
  constexpr int many = 1000;
  result["h2d_64"] = median_of(
      many,
      [&] {
        require(cudaMemcpy(on_device.data(), message.data(), small, cudaMemcpyHostToDevice),
                "cudaMemcpy");
      },
      wait);
  result["d2h_64"] = median_of(many, [&] {
    require(cudaMemcpy(message.data(), on_device.data(), small, cudaMemcpyDeviceToHost),
            "cudaMemcpy");
  });
  result["launch_submit"] = median_of(
      many,
      [&] {
        queue_empty(nullptr);
        require(cudaGetLastError(), "launch");
      },
      wait);
  constexpr int in_a_row = 1000;
  result["launch_submit_in_a_row"] = median_of(
                                         20,
                                         [&] {
                                           for (int k = 0; k < in_a_row; ++k)
                                             queue_empty(nullptr);
                                         },
                                         wait) /
                                     in_a_row;
  result["launch_and_wait"] = median_of(many, [&] {
    queue_empty(nullptr);
    wait();
  });
  constexpr int repetitions = 7;
  const auto per_second = [&](void* to, const void* from) {
    return static_cast<double>(bytes) / median_of(repetitions, [&] {
             require(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, nullptr),
                     "cudaMemcpyAsync");
             wait();
           });
  };
  result["h2d_pinned"] = per_second(on_device.data(), pinned);
  result["d2h_pinned"] = per_second(pinned, on_device.data());
  std::vector<std::byte> pageable(bytes);
  result["h2d_pageable"] = per_second(on_device.data(), pageable.data());
  result["d2h_pageable"] = per_second(pageable.data(), on_device.data());
  const auto seconds = [&](void* to, const void* from) {
    constexpr std::size_t middle = std::size_t{1} << 20;
    return median_of(200, [&] {
      require(cudaMemcpyAsync(to, from, middle, cudaMemcpyDefault, nullptr), "cudaMemcpyAsync");
      wait();
    });
  };
  result["h2d_pinned_1MiB"] = seconds(on_device.data(), pinned);
  result["d2h_pinned_1MiB"] = seconds(pinned, on_device.data());
  result["h2d_pageable_1MiB"] = seconds(on_device.data(), pageable.data());
  result["d2h_pageable_1MiB"] = seconds(pageable.data(), on_device.data());
  require(cudaFreeHost(pinned), "cudaFreeHost");
  return result;
}

}  // namespace gpucast::probe
