// Functions that launch the kernels.
#pragma once

#include "engine/loop.h"
#include "gpucast/devices/clock.h"
#include "gpucast/devices/cuda/resources.h"

namespace gpucast::microbench::cuda {

using devices::Clock;
using devices::seconds_since;
using devices::cuda::check;
using devices::cuda::DeviceArray;
using devices::cuda::Event;
using devices::cuda::Stream;

// Holds the stream until *flag (mapped host memory) is not 0, or, as an error, until *timed_out is
// set to 1 after `timeout` seconds.
void queue_gate(const int* flag, int* timed_out, double timeout, cudaStream_t stream);

// Keeps a small part of the GPU busy for `seconds`.
void queue_spin(double seconds, cudaStream_t stream);

// Copies like the copy engine, but by reads and writes of all multiprocessors.
void queue_copy(void* to, const void* from, std::int64_t bytes, cudaStream_t stream);

void queue_fill(void* data, std::int64_t bytes, std::uint32_t seed, cudaStream_t stream);
// Adds the number of bytes that differ from the pattern to *wrong.
void queue_compare(const void* data, std::int64_t bytes, std::uint32_t seed,
                   unsigned long long* wrong, cudaStream_t stream);

// out[k] = loop_result(in[list[k]]) for `count` elements, by the whole GPU; without a list in
// order.
void queue_loop(float* out, const float* in, const Index* list, std::size_t count,
                cudaStream_t stream);

// An empty kernel with that number of arguments, up to most_arguments; its address, for graphs.
inline constexpr int most_arguments = 16;
void queue_empty(int arguments, cudaStream_t stream);
const void* empty_kernel(int arguments);

// Loads all kernels on the current device: loading one while a gate is closed would wait for the
// gate.
void load_kernels();

}  // namespace gpucast::microbench::cuda
