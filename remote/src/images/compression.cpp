#include "images/compression.h"

#include <dlfcn.h>

#include <limits>

namespace gpucast::remote::images {
namespace {

// These functions throw MissingLibrary.
void* open_library(const char* file) {
  void* library = ::dlopen(file, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) throw MissingLibrary(std::string(file) + " is not on this machine");
  return library;
}

template <class Function>
Function* find_function(void* library, const char* name) {
  auto* function = reinterpret_cast<Function*>(::dlsym(library, name));
  if (function == nullptr) throw MissingLibrary(std::string("no ") + name + " on this machine");
  return function;
}

// The functions of zstd.h, which have not changed since 1.0.
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

// The function of lz4.h, which has not changed since 1.0.
struct Lz4 {
  void* library = open_library("liblz4.so.1");
  int (*decompress)(const char* from, char* to, int bytes, int room) =
      find_function<int(const char*, char*, int, int)>(library, "LZ4_decompress_safe");
};
std::size_t by_lz4(Bytes from, std::vector<std::byte>& to) {
  static const Lz4 lz4;
  constexpr std::size_t most = std::numeric_limits<int>::max();
  if (from.size() > most || to.size() > most) throw ImageError("a member is too long for LZ4");
  const int got =
      lz4.decompress(reinterpret_cast<const char*>(from.data()), reinterpret_cast<char*>(to.data()),
                     static_cast<int>(from.size()), static_cast<int>(to.size()));
  return got < 0 ? 0 : static_cast<std::size_t>(got);
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
  if (library.is_error(got) != 0) return std::nullopt;  // the room is too small
  result.resize(got);
  return result;
}

Bytes plain_content(const Member& member, std::vector<std::byte>& room) {
  if (member.compression == Compression::none) return member.content;
  // GPU code shrinks at most about tenfold, and memory is reserved before the size is checked.
  constexpr std::uint64_t most_ratio = 1024;
  if (member.plain_bytes == 0 || member.plain_bytes > most_module ||
      member.plain_bytes / most_ratio > member.content.size()) {
    throw ImageError("a member of no possible length");
  }
  room.resize(member.plain_bytes);
  const std::size_t got = member.compression == Compression::lz4 ? by_lz4(member.content, room)
                                                                 : decompress(member.content, room);
  if (got != member.plain_bytes) throw ImageError("a member that cannot be decompressed");
  return room;
}

}  // namespace gpucast::remote::images
