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
void copy(void* to, const void* from, const Rows& rows, cudaMemcpyKind kind, cudaStream_t stream,
          Waiting waiting);
void set(void* to, int value, std::size_t pitch, std::size_t width, std::size_t height,
         cudaStream_t stream, Waiting waiting);

// Device memory for the current device, at an address that means nothing else in this process.
void allocate(void** memory, std::size_t bytes);
void deallocate(void* memory);

// A variable of the current device.
Global symbol(const void* host);

}  // namespace gpucast::remote::client
