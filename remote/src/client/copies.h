// Copies between what the program's addresses mean.
#pragma once

#include "client/runtime.h"

namespace gpucast::remote::client {

inline Address address_of(const void* memory) { return reinterpret_cast<Address>(memory); }

enum class Waiting { blocking, asynchronous };

// `height` rows of `width` bytes.
struct Rows {
  std::size_t to_pitch = 0;
  std::size_t from_pitch = 0;
  std::size_t width = 0;
  std::size_t height = 1;
};

inline Rows row(std::size_t bytes) {
  return {.to_pitch = bytes, .from_pitch = bytes, .width = bytes, .height = 1};
}

// All of these throw Failure.
// On a stream that is recorded these become nodes.
void copy(void* to, const void* from, const Rows& rows, cudaMemcpyKind kind, cudaStream_t stream,
          Waiting waiting);
void set(void* to, int value, std::size_t pitch, std::size_t width, std::size_t height,
         cudaStream_t stream, Waiting waiting);

// A copy as nodes of a graph: several, one after another, where the host's rows have gaps.
// `device`: whose stream it is on.
std::vector<Work> copy_works(void* to, const void* from, const Rows& rows, cudaMemcpyKind kind);
Work memset_work(void* to, int value, std::size_t pitch, std::size_t width, std::size_t height);

// Device memory for the current device, at an address that means nothing else in this process.
void allocate(void** memory, std::size_t bytes);
void deallocate(void* memory);
// The same in the stream's order, from a pool of the stream's device (nullptr: the one that the
// device takes memory from).
void allocate_pooled(void** memory, std::size_t bytes, cudaMemPool_t pool, const OnStream& on);
void deallocate_pooled(void* memory, const OnStream& on);

// A variable of the current device.
Global symbol(const void* host);

}  // namespace gpucast::remote::client
