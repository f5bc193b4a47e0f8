// The container that nvcc makes of a program's GPU code: a header, and members, each one
// architecture's cubin or PTX, compressed or not. CUDA documents the tools that write it
// (fatbinary, cuobjdump), not the bytes; what stands here was read off images of nvcc 12 and 13.
#pragma once

#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <type_traits>
#include <vector>

#include "protocol/wire.h"

namespace gpucast::remote::images {

// An image is not what its own headers say, in one line.
class ImageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// A part of the image, from an offset. ImageError where the image ends before.
inline Bytes part(Bytes image, std::uint64_t offset, std::uint64_t bytes) {
  if (offset > image.size() || bytes > image.size() - offset) throw ImageError("it ends early");
  return image.subspan(offset, bytes);
}

// The value that lies at an offset, aligned or not.
template <class T>
  requires std::is_trivially_copyable_v<T>
T value_at(Bytes image, std::uint64_t offset) {
  T value{};
  std::memcpy(&value, part(image, offset, sizeof value).data(), sizeof value);
  return value;
}

// What begins every container.
struct Container {
  std::uint32_t magic = 0;
  std::uint16_t version = 0;
  std::uint16_t header_bytes = 0;
  std::uint64_t bytes = 0;  // of what follows the header
};
inline constexpr std::uint32_t container_magic = 0xba55ed50;

// Bytes of the container that begins here, its header included; 0 where none does, or its length is
// beyond all memory.
std::uint64_t container_bytes(const Container& container);

enum class Kind : std::uint8_t { ptx, cubin, other };
enum class Compression : std::uint8_t { none, lz4, zstd };

struct Member {
  Kind kind = Kind::other;
  Compression compression = Compression::none;
  Bytes content = {};             // as it lies in the container
  std::uint64_t plain_bytes = 0;  // of the content once it is decompressed
};

// In their order. ImageError where the bytes are no container, or a member leaves it.
std::vector<Member> members_of(Bytes container);

}  // namespace gpucast::remote::images
