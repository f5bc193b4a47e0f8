#include "engine/cuda/kernels.h"

#include <algorithm>
#include <array>
#include <utility>

namespace gpucast::microbench::cuda {
namespace {

__device__ unsigned long long nanoseconds() {
  unsigned long long now = 0;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
  return now;
}

__global__ void gate(const volatile int* flag, volatile int* timed_out,
                     unsigned long long timeout) {
  const unsigned long long begin = nanoseconds();
  while (*flag == 0) {
    if (nanoseconds() - begin > timeout) {
      *timed_out = 1;
      return;
    }
  }
}

__global__ void spin(unsigned long long duration) {
  const unsigned long long begin = nanoseconds();
  while (nanoseconds() - begin < duration) {
  }
}

// Calls body(k) for the k below `count` that belong to this thread.
template <class Body>
__device__ void each_of_mine(std::int64_t count, Body body) {
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t k = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; k < count;
       k += stride)
    body(k);
}

__global__ void copy_wide(int4* to, const int4* from, std::int64_t count) {
  each_of_mine(count, [=](std::int64_t k) { to[k] = from[k]; });
}

__global__ void copy_bytes(unsigned char* to, const unsigned char* from, std::int64_t count) {
  each_of_mine(count, [=](std::int64_t k) { to[k] = from[k]; });
}

__global__ void fill(unsigned char* data, std::int64_t count, std::uint32_t seed) {
  each_of_mine(count, [=](std::int64_t k) { data[k] = pattern(k, seed); });
}

__global__ void compare(const unsigned char* data, std::int64_t count, std::uint32_t seed,
                        unsigned long long* wrong) {
  unsigned long long mine = 0;
  each_of_mine(count, [&](std::int64_t k) { mine += data[k] == pattern(k, seed) ? 0 : 1; });
  if (mine != 0) atomicAdd(wrong, mine);
}

template <bool listed>
__global__ void loop(float* out, const float* in, const Index* list, std::size_t count) {
  each_of_mine(static_cast<std::int64_t>(count),
               [=](std::int64_t k) { out[k] = loop_result(in[listed ? list[k] : k]); });
}

// An empty kernel with arguments of 8 bytes each.
template <class... Argument>
__global__ void empty(Argument... /*arguments*/) {}

constexpr unsigned threads = 256;

unsigned blocks(std::int64_t count) {
  constexpr std::int64_t most = 1024;
  return static_cast<unsigned>(std::clamp<std::int64_t>((count + threads - 1) / threads, 1, most));
}

unsigned long long to_nanoseconds(double seconds) {
  return static_cast<unsigned long long>(seconds * 1e9);
}

template <std::size_t>
using Argument = double;

template <std::size_t... k>
const void* empty_of(std::index_sequence<k...> /*count*/) {
  return reinterpret_cast<const void*>(empty<Argument<k>...>);
}

template <std::size_t... count>
const void* empty_of(int arguments, std::index_sequence<count...> /*counts*/) {
  const std::array<const void*, sizeof...(count)> all = {
      empty_of(std::make_index_sequence<count>())...};
  return all.at(static_cast<std::size_t>(arguments));
}

}  // namespace

void queue_gate(const int* flag, int* timed_out, double timeout, cudaStream_t stream) {
  gate<<<1, 1, 0, stream>>>(flag, timed_out, to_nanoseconds(timeout));
  check(cudaGetLastError(), "launch of gate");
}

void queue_spin(double seconds, cudaStream_t stream) {
  spin<<<1, 1, 0, stream>>>(to_nanoseconds(seconds));
  check(cudaGetLastError(), "launch of spin");
}

void queue_copy(void* to, const void* from, std::int64_t bytes, cudaStream_t stream) {
  constexpr std::int64_t wide = sizeof(int4);
  const std::int64_t count = bytes / wide;
  const std::int64_t rest = bytes - count * wide;
  if (count > 0) {
    copy_wide<<<blocks(count), threads, 0, stream>>>(static_cast<int4*>(to),
                                                     static_cast<const int4*>(from), count);
  }
  if (rest > 0) {
    copy_bytes<<<1, threads, 0, stream>>>(static_cast<unsigned char*>(to) + count * wide,
                                          static_cast<const unsigned char*>(from) + count * wide,
                                          rest);
  }
  check(cudaGetLastError(), "launch of copy");
}

void queue_fill(void* data, std::int64_t bytes, std::uint32_t seed, cudaStream_t stream) {
  fill<<<blocks(bytes), threads, 0, stream>>>(static_cast<unsigned char*>(data), bytes, seed);
  check(cudaGetLastError(), "launch of fill");
}

void queue_compare(const void* data, std::int64_t bytes, std::uint32_t seed,
                   unsigned long long* wrong, cudaStream_t stream) {
  compare<<<blocks(bytes), threads, 0, stream>>>(static_cast<const unsigned char*>(data), bytes,
                                                 seed, wrong);
  check(cudaGetLastError(), "launch of compare");
}

void queue_loop(float* out, const float* in, const Index* list, std::size_t count,
                cudaStream_t stream) {
  const unsigned grid = blocks(static_cast<std::int64_t>(count));
  if (list == nullptr)
    loop<false><<<grid, threads, 0, stream>>>(out, in, list, count);
  else
    loop<true><<<grid, threads, 0, stream>>>(out, in, list, count);
  check(cudaGetLastError(), "launch of loop");
}

const void* empty_kernel(int arguments) {
  return empty_of(arguments, std::make_index_sequence<most_arguments + 1>());
}

void queue_empty(int arguments, cudaStream_t stream) {
  double value = 0;
  std::array<void*, most_arguments> pointers{};
  pointers.fill(&value);
  check(cudaLaunchKernel(empty_kernel(arguments), dim3(1), dim3(1), pointers.data(), 0, stream),
        "launch of an empty kernel");
}

void load_kernels() {
  cudaFuncAttributes attributes{};
  for (const void* kernel :
       {reinterpret_cast<const void*>(gate), reinterpret_cast<const void*>(spin),
        reinterpret_cast<const void*>(copy_wide), reinterpret_cast<const void*>(copy_bytes),
        reinterpret_cast<const void*>(fill), reinterpret_cast<const void*>(loop<false>),
        reinterpret_cast<const void*>(loop<true>), reinterpret_cast<const void*>(compare)})
    check(cudaFuncGetAttributes(&attributes, kernel), "cudaFuncGetAttributes");
  for (int arguments = 0; arguments <= most_arguments; ++arguments)
    check(cudaFuncGetAttributes(&attributes, empty_kernel(arguments)), "cudaFuncGetAttributes");
}

}  // namespace gpucast::microbench::cuda
