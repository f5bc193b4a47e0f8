#include "images/decompress.h"

#include <limits>

#include "protocol/limits.h"
#include "system_library.h"

namespace gpucast::remote::images {
namespace {

// As lz4.h declares it, which has not changed since 1.0.
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
                                                                 : decompress(member.content, room);
  if (got != member.plain_bytes) throw ImageError("a member that cannot be decompressed");
  return room;
}

}  // namespace gpucast::remote::images
