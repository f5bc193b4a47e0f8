// Buffers on the host and on GPUs, kept between measurements: to pin a gigabyte takes a second.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <tuple>

#include "gpucast/records/records.h"

namespace gpucast::microbench::cuda {

class Buffer {
 public:
  Buffer() = default;
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  virtual ~Buffer() = default;
  void* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }

  // The pattern that all of it holds, if it was filled and not written since.
  std::optional<std::uint32_t> seed = std::nullopt;

 protected:
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
};

// What a buffer is for: sources keep what they hold, destinations are written.
enum class Role { source, destination };

class BufferPool {
 public:
  // Of the host, touched; `number` tells apart those in use together.
  Buffer& on_host(records::Memory memory, Role role, std::size_t number, std::size_t bytes);
  Buffer& on_gpu(int device, Role role, std::size_t number, std::size_t bytes);

 private:
  using Key = std::tuple<int, records::Memory, Role, std::size_t>;
  std::map<Key, std::unique_ptr<Buffer>> buffers_;
};

// Bytes that hold the pattern of a seed; through the GPU, since CPUs read write-combined memory
// sixty times slower.
void fill(void* data, std::size_t bytes, std::uint32_t seed, int device);
bool holds(const void* data, std::size_t bytes, std::uint32_t seed, int device);

}  // namespace gpucast::microbench::cuda
