// Copies between what the program's addresses mean.
#pragma once

#include "client/runtime.h"

namespace gpucast::remote {

enum class Waiting { blocking, asynchronous };

// `height` rows of `width` bytes.
struct Rows {
  std::size_t to_pitch = 0;
  std::size_t from_pitch = 0;
  std::size_t width = 0;
  std::size_t height = 1;
};

cudaError_t copy(void* to, const void* from, const Rows& rows, cudaMemcpyKind kind,
                 cudaStream_t stream, Waiting waiting);
cudaError_t set(void* to, int value, std::size_t pitch, std::size_t width, std::size_t height,
                cudaStream_t stream, Waiting waiting);

// Device memory for the current device, at an address that means nothing else in this process.
cudaError_t allocate(void** memory, std::size_t bytes);
cudaError_t deallocate(void* memory);

// A variable of the current device.
Global symbol(const void* host);

}  // namespace gpucast::remote
