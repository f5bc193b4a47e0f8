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

inline bool in_one_piece(const Rows& rows) {
  return rows.height == 1 || (rows.to_pitch == rows.width && rows.from_pitch == rows.width);
}

// Calls `body(to, from, bytes)` for what lies without gaps at both ends.
template <class Body>
void for_each_piece(void* to, const void* from, const Rows& rows, Body body) {
  auto* out = static_cast<std::byte*>(to);
  const auto* in = static_cast<const std::byte*>(from);
  if (in_one_piece(rows)) return body(out, in, rows.width * rows.height);
  for (std::size_t row = 0; row < rows.height; ++row)
    body(out + row * rows.to_pitch, in + row * rows.from_pitch, rows.width);
}

// For one server, to which both are addresses of its own.
CopyWithin copy_message(Address to, Address from, const Rows& rows, Id stream, Waiting waiting);

cudaError_t copy(void* to, const void* from, const Rows& rows, cudaMemcpyKind kind,
                 cudaStream_t stream, Waiting waiting);
cudaError_t set(void* to, int value, std::size_t pitch, std::size_t width, std::size_t height,
                cudaStream_t stream, Waiting waiting);

// Device memory for the current device, at an address that means nothing else in this process.
cudaError_t allocate(void** memory, std::size_t bytes);
cudaError_t deallocate(void* memory);

// A variable of the current device.
Global symbol(const void* host);

}  // namespace gpucast::remote::client
