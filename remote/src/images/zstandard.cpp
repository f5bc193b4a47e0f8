#include "images/zstandard.h"

#include "system_library.h"

namespace gpucast::remote::images {
namespace {

// As zstd.h declares them, which has not changed since 1.0.
struct Zstandard {
  using Size = std::size_t;
  void* library = open_library("libzstd.so.1");
  Size (*decompress)(void* to, Size room, const void* from, Size bytes) =
      find_function<Size(void*, Size, const void*, Size)>(library, "ZSTD_decompress");
  Size (*compress)(void* to, Size room, const void* from, Size bytes, int level) =
      find_function<Size(void*, Size, const void*, Size, int)>(library, "ZSTD_compress");
  unsigned (*is_error)(Size result) = find_function<unsigned(Size)>(library, "ZSTD_isError");
};

const Zstandard& zstandard() {
  static const Zstandard result;
  return result;
}

}  // namespace

bool has_zstandard() {
  try {
    zstandard();
    return true;
  } catch (const MissingLibrary&) {
    return false;
  }
}

std::size_t decompress(Bytes from, std::span<std::byte> to) {
  const Zstandard& library = zstandard();
  const std::size_t got = library.decompress(to.data(), to.size(), from.data(), from.size());
  return library.is_error(got) != 0 ? 0 : got;
}

std::optional<std::vector<std::byte>> compress(Bytes from) {
  constexpr int fastest = 1;
  const Zstandard& library = zstandard();
  std::vector<std::byte> result(from.size() - from.size() / 8);
  const std::size_t got =
      library.compress(result.data(), result.size(), from.data(), from.size(), fastest);
  if (library.is_error(got) != 0) return std::nullopt;  // for want of room
  result.resize(got);
  return result;
}

}  // namespace gpucast::remote::images
