// The container that nvcc makes of a program's GPU code: a header, and members, each the cubin or
// PTX of one architecture, compressed or not. CUDA documents the tools that write it (fatbinary,
// cuobjdump), but not the format; this description comes from images of nvcc 12 and 13.
#pragma once

#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <type_traits>
#include <vector>

#include "protocol/wire.h"

namespace gpucast::remote::images {

// An image contradicts its own headers; one line says how.
class ImageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Returns a part of the image. Throws ImageError if the image ends before.
inline Bytes part(Bytes image, std::uint64_t offset, std::uint64_t bytes) {
  if (offset > image.size() || bytes > image.size() - offset) throw ImageError("it ends early");
  return image.subspan(offset, bytes);
}

// Returns the value at an offset, which need not be aligned.
template <class T>
  requires std::is_trivially_copyable_v<T>
T value_at(Bytes image, std::uint64_t offset) {
  T value{};
  std::memcpy(&value, part(image, offset, sizeof value).data(), sizeof value);
  return value;
}

// The beginning of every container.
struct Container {
  std::uint32_t magic = 0;
  std::uint16_t version = 0;
  std::uint16_t header_bytes = 0;
  std::uint64_t bytes = 0;  // after the header
};
inline constexpr std::uint32_t container_magic = 0xba55ed50;

// Returns the bytes of the container that begins here, with its header; 0 if none begins here, or
// its length exceeds any memory.
std::uint64_t container_bytes(const Container& container);

enum class Kind : std::uint8_t { ptx, cubin, other };
enum class Compression : std::uint8_t { none, lz4, zstd };

struct Member {
  Kind kind = Kind::other;
  Compression compression = Compression::none;
  Bytes content = {};             // as it lies in the container
  std::uint64_t plain_bytes = 0;  // after decompression
};

// Returns the members in order. Throws ImageError if the bytes are no container, or a member leaves
// it.
std::vector<Member> members_of(Bytes container);

}  // namespace gpucast::remote::images
