#include "images/decompress.h"

#include <dlfcn.h>

#include <limits>
#include <string>

#include "protocol/limits.h"

namespace gpucast::remote::images {
namespace {

void* open(const char* file) {
  void* library = ::dlopen(file, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) throw NoDecompressor(std::string(file) + " is not on this machine");
  return library;
}

template <class Function>
Function* find(void* library, const char* name) {
  auto* function = reinterpret_cast<Function*>(::dlsym(library, name));
  if (function == nullptr) throw NoDecompressor(std::string("no ") + name + " on this machine");
  return function;
}

// As lz4.h and zstd.h declare them, which have not changed since 1.0 of either.
struct Lz4 {
  void* library = open("liblz4.so.1");
  int (*decompress)(const char* from, char* to, int bytes,
                    int room) = find<int(const char*, char*, int, int)>(library,
                                                                        "LZ4_decompress_safe");
};
struct Zstd {
  void* library = open("libzstd.so.1");
  std::size_t (*decompress)(void* to, std::size_t room, const void* from, std::size_t bytes) =
      find<std::size_t(void*, std::size_t, const void*, std::size_t)>(library, "ZSTD_decompress");
  unsigned (*is_error)(std::size_t result) = find<unsigned(std::size_t)>(library, "ZSTD_isError");
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

std::size_t by_zstd(Bytes from, std::vector<std::byte>& to) {
  static const Zstd zstd;
  const std::size_t got = zstd.decompress(to.data(), to.size(), from.data(), from.size());
  return zstd.is_error(got) != 0 ? 0 : got;
}

}  // namespace

Bytes plain_content(const Member& member, std::vector<std::byte>& room) {
  if (member.compression == Compression::none) return member.content;
  // GPU code becomes some ten times as small, and memory is taken before that is known.
  constexpr std::uint64_t most_ratio = 1024;
  if (member.plain_bytes == 0 || member.plain_bytes > most_module ||
      member.plain_bytes / most_ratio > member.content.size()) {
    throw ImageError("a member of no possible length");
  }
  room.resize(member.plain_bytes);
  const std::size_t got = member.compression == Compression::lz4 ? by_lz4(member.content, room)
                                                                 : by_zstd(member.content, room);
  if (got != member.plain_bytes) throw ImageError("a member that cannot be decompressed");
  return room;
}

}  // namespace gpucast::remote::images
