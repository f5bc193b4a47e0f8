// Common parts of the programs: sizes, settings and GPUs from the command line, steps timed by the
// host's clock, and their records.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "gpucast/devices/cuda/resources.h"
#include "gpucast/support/interface.h"

namespace gpucast::trace {

using devices::cuda::check;
using devices::cuda::DeviceArray;
using devices::cuda::Event;
using devices::cuda::Stream;

// What is timed: one size and setting on a number of GPUs.
struct Cell {
  std::string setting;  // one of About::settings; empty if there are none
  std::int64_t n = 1;
  int gpus = 1;
};

// A program that is ready to make steps. Every step does the same on its GPUs.
class Program : public support::Interface {
 public:
  // Returns when the host has the result.
  virtual void step() = 0;
  // Begins anew, makes a step, and returns what is wrong with its result; empty if it is right.
  virtual std::string wrong() = 0;
};

struct About {
  std::string name;
  std::string what;   // a line for --help
  std::string unit;   // what n counts
  std::string sizes;  // the usual ones: a list of numbers
  std::vector<std::string> settings = {};
  int most_gpus = 1;
};

// Each program defines these; main writes a record of kind step for each cell. Making a cell's
// program throws InputError for a size that it cannot have.
extern const About about;
std::unique_ptr<Program> make(const Cell& cell);

// Returns the side of a square grid of n cells. Throws InputError if n is no square of at least
// `least`.
int side_of(std::int64_t n, int least);

// Zeroed host memory that GPUs access without staging.
template <class T>
class PinnedArray {
 public:
  explicit PinnedArray(std::size_t size) : size_(size) {
    void* memory = nullptr;
    check(cudaHostAlloc(&memory, size * sizeof(T), cudaHostAllocPortable), "cudaHostAlloc");
    data_.reset(static_cast<T*>(memory));
    for (std::size_t k = 0; k < size; ++k)
      data_.get()[k] = T{};
  }

  T* data() { return data_.get(); }
  T& operator[](std::size_t k) { return data_.get()[k]; }
  std::size_t size() const { return size_; }
  std::size_t bytes() const { return size_ * sizeof(T); }

 private:
  std::size_t size_;
  std::unique_ptr<T, devices::cuda::Destroy<cudaFreeHost>> data_;
};

// The size of blocks in kernels without a reason for another one.
constexpr unsigned usual_threads = 256;

// Throws if the launch before it failed.
inline void check_launch(const char* kernel) { check(cudaGetLastError(), kernel); }

// A blocking copy between an array of the GPU and pageable memory.
template <class T>
void to_gpu(const DeviceArray<T>& array, const std::vector<T>& host) {
  check(cudaMemcpy(array.data(), host.data(), array.bytes(), cudaMemcpyHostToDevice), "cudaMemcpy");
}
template <class T>
void to_host(std::vector<T>& host, const DeviceArray<T>& array) {
  check(cudaMemcpy(host.data(), array.data(), host.size() * sizeof(T), cudaMemcpyDeviceToHost),
        "cudaMemcpy");
}

// Queues a copy of memory of either kind.
inline void queue_to_gpu(void* to, const void* from, std::size_t bytes, cudaStream_t stream) {
  check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, stream), "cudaMemcpyAsync");
}
inline void queue_to_host(void* to, const void* from, std::size_t bytes, cudaStream_t stream) {
  check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, stream), "cudaMemcpyAsync");
}

// Returns the number of blocks of `threads` threads for `count` threads.
inline unsigned blocks_of(std::int64_t count, unsigned threads) {
  return static_cast<unsigned>((count + threads - 1) / threads);
}

}  // namespace gpucast::trace
