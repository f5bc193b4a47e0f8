// Bytes within an image of GPU code, each access within its bounds.
#pragma once

#include <cstring>
#include <stdexcept>
#include <type_traits>

#include "protocol/wire.h"

namespace gpucast::remote::images {

// An image is not what its own headers say, in one line.
class ImageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// So many bytes from an offset. ImageError where the image ends before.
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

}  // namespace gpucast::remote::images
