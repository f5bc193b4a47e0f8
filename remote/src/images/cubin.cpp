// A section .nv.info.NAME is a sequence of attributes: a byte that tells where the value is, a byte
// that tells which attribute it is, and 16 bits, which are the value or the number of bytes of
// value that follow. The relevant ones, as `cuobjdump --dump-elf` prints them:
//
//   KPARAM_INFO      0x17  u32 index, u16 ordinal, u16 offset, u32 with the size above bit 18
//   KPARAM_INFO_V2   0x45  the same, with the size in its lower 16 bits (sm_90 and newer)
//   CBANK_PARAM_SIZE 0x19  bytes of all parameters together
#include "images/kernel_parameters.h"

#include <elf.h>

namespace gpucast::remote::images {
namespace {

constexpr std::string_view info_prefix = ".nv.info.";
constexpr std::uint8_t value_follows = 4;
constexpr std::uint8_t attribute_parameter = 0x17;
constexpr std::uint8_t attribute_parameter_v2 = 0x45;
constexpr std::uint8_t attribute_all_bytes = 0x19;
constexpr unsigned size_shift = 18;
constexpr std::uint32_t size_mask_v2 = 0xffff;

struct ParameterInfo {
  std::uint32_t index;
  std::uint16_t ordinal;
  std::uint16_t offset;
  std::uint32_t size_and_more;
};

struct Attribute {
  std::uint8_t where;
  std::uint8_t what;
  std::uint16_t value;
};

Layout layout_of(Bytes info) {
  std::vector<std::optional<Parameter>> parameters;
  std::size_t all_bytes = most_argument_bytes;
  while (!info.empty()) {
    const auto attribute = value_at<Attribute>(info, 0);
    const std::size_t follows = attribute.where == value_follows ? attribute.value : 0;
    const Bytes value = part(info, sizeof attribute, follows);
    if (attribute.what == attribute_parameter || attribute.what == attribute_parameter_v2) {
      const auto told = value_at<ParameterInfo>(value, 0);
      if (told.ordinal >= most_parameters) throw ImageError("a kernel with too many parameters");
      if (parameters.size() <= told.ordinal) parameters.resize(told.ordinal + std::size_t{1});
      auto& place = parameters[told.ordinal];
      if (place) throw ImageError("a parameter that is there twice");
      place = {.offset = told.offset,
               .bytes = attribute.what == attribute_parameter ? told.size_and_more >> size_shift
                                                              : told.size_and_more & size_mask_v2};
    } else if (attribute.what == attribute_all_bytes) {
      all_bytes = attribute.value;
    }
    info = info.subspan(sizeof attribute + follows);
  }
  Layout layout;
  for (const auto& parameter : parameters) {
    if (!parameter) throw ImageError("a parameter is missing");
    layout.push_back(*parameter);
  }
  if (argument_bytes(layout) > all_bytes) throw ImageError("parameters beyond their buffer");
  return layout;
}

struct Sections {
  explicit Sections(Bytes elf) : elf_(elf) {
    header_ = value_at<Elf64_Ehdr>(elf, 0);
    if (std::memcmp(header_.e_ident, ELFMAG, SELFMAG) != 0 ||
        header_.e_ident[EI_CLASS] != ELFCLASS64 || header_.e_shentsize != sizeof(Elf64_Shdr)) {
      throw ImageError("it is no cubin");
    }
    // If the number does not fit into 16 bits, the first section holds it.
    count_ = header_.e_shnum;
    names_ = header_.e_shstrndx;
    if (count_ == 0) count_ = at(0).sh_size;
    if (names_ == SHN_XINDEX) names_ = at(0).sh_link;
  }
  std::uint64_t count() const { return count_; }
  Elf64_Shdr at(std::uint64_t k) const {
    if (k > elf_.size() / sizeof(Elf64_Shdr)) throw ImageError("it ends early");
    return value_at<Elf64_Shdr>(elf_, header_.e_shoff + k * sizeof(Elf64_Shdr));
  }
  Bytes content(const Elf64_Shdr& section) const {
    return part(elf_, section.sh_offset, section.sh_size);
  }
  std::string_view name(const Elf64_Shdr& section) const {
    const Bytes names = content(at(names_));
    if (section.sh_name >= names.size()) throw ImageError("a section without a name");
    const Bytes rest = names.subspan(section.sh_name);
    const auto end = std::ranges::find(rest, std::byte{0});
    if (end == rest.end()) throw ImageError("a section's name without an end");
    return {reinterpret_cast<const char*>(rest.data()),
            static_cast<std::size_t>(end - rest.begin())};
  }

 private:
  Bytes elf_;
  Elf64_Ehdr header_{};
  std::uint64_t count_ = 0;
  std::uint64_t names_ = 0;
};

}  // namespace

Layouts layouts_of_cubin(Bytes cubin) {
  const Sections sections(cubin);
  Layouts result;
  for (std::uint64_t k = 0; k < sections.count(); ++k) {
    const Elf64_Shdr section = sections.at(k);
    const std::string_view name = sections.name(section);
    if (!name.starts_with(info_prefix)) continue;
    result.emplace(name.substr(info_prefix.size()), layout_of(sections.content(section)));
  }
  return result;
}

}  // namespace gpucast::remote::images
