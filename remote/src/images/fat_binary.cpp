#include "images/fat_binary.h"

#include <limits>

namespace gpucast::remote::images {
namespace {

// The header of each member; a longer header contains compiler options after these fields.
struct MemberHeader {
  std::uint16_t kind;
  std::uint16_t version;
  std::uint32_t header_bytes;
  std::uint64_t bytes;  // after the header, with padding
  std::uint32_t compressed_bytes;
  std::uint32_t options_offset;
  std::uint32_t format_version;
  std::uint32_t architecture;
  std::uint32_t name_offset;
  std::uint32_t name_bytes;
  std::uint64_t flags;
  std::uint64_t reserved;
  std::uint64_t plain_bytes;
};
static_assert(sizeof(MemberHeader) == 64);

constexpr std::uint16_t kind_ptx = 1;
constexpr std::uint16_t kind_cubin = 2;
constexpr std::uint64_t flag_lz4 = 0x2000;
constexpr std::uint64_t flag_zstd = 0x8000;

Member member_of(const MemberHeader& header, Bytes content) {
  Member member{.content = content, .plain_bytes = content.size()};
  if (header.kind == kind_ptx) member.kind = Kind::ptx;
  if (header.kind == kind_cubin) member.kind = Kind::cubin;
  if ((header.flags & flag_lz4) != 0) member.compression = Compression::lz4;
  if ((header.flags & flag_zstd) != 0) member.compression = Compression::zstd;
  if (member.compression != Compression::none) {
    member.content = part(content, 0, header.compressed_bytes);
    member.plain_bytes = header.plain_bytes;
  }
  return member;
}

}  // namespace

std::uint64_t container_bytes(const Container& container) {
  const bool fits =
      container.bytes <= std::numeric_limits<std::uint64_t>::max() - container.header_bytes;
  const bool is_one =
      container.magic == container_magic && container.header_bytes >= sizeof(Container) && fits;
  return is_one ? container.header_bytes + container.bytes : 0;
}

std::vector<Member> members_of(Bytes container) {
  const auto header = value_at<Container>(container, 0);
  const std::uint64_t end = container_bytes(header);
  if (end == 0) throw ImageError("it is no fat binary");
  const Bytes whole = part(container, 0, end);
  std::vector<Member> result;
  for (std::uint64_t at = header.header_bytes; at < end;) {
    const auto member = value_at<MemberHeader>(whole, at);
    if (member.header_bytes < sizeof member) throw ImageError("a member without a header");
    const Bytes rest = whole.subspan(at);
    result.push_back(member_of(member, part(rest, member.header_bytes, member.bytes)));
    at += member.header_bytes + member.bytes;
  }
  return result;
}

}  // namespace gpucast::remote::images
