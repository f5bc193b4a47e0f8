// The parameters of kernels as the program's own GPU code states them. A launch passes pointers to
// arguments without their sizes, so that whoever states the sizes decides how much of the program's
// memory is sent: no one who may lie or be mistaken is asked.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "images/compression.h"
#include "protocol/calls.h"

namespace gpucast::remote::images {

// One kernel's parameters in order.
using Layout = std::vector<Parameter>;
// Layouts by the kernels' names in the image, which are mangled for C++.
using Layouts = std::map<std::string, Layout, std::less<>>;

// Whether `told` has parameters of the same sizes in the same order, in a buffer that a launch may
// have. Their offsets are not compared: if a parameter's alignment exceeds 16 bytes, these differ
// between architectures of one image.
inline bool same_parameters(const Layout& own, const Layout& told) {
  if (own.size() != told.size()) return false;
  std::uint64_t end = 0;
  for (std::size_t k = 0; k < own.size(); ++k) {
    if (told[k].bytes != own[k].bytes || told[k].offset < end) return false;
    end = std::uint64_t{told[k].offset} + told[k].bytes;
  }
  return end <= most_argument_bytes;
}

// Returns the layouts of all kernels of machine code, an ELF file with a section .nv.info.NAME for
// each. Throws ImageError if it is no cubin, or contradicts itself.
Layouts layouts_of_cubin(Bytes cubin);

// Returns the layouts of the kernels of PTX, the text that a driver compiles: `.entry NAME(.param
// ..., ...)` for each kernel whose parameters are numbers, pointers and structures; kernels with
// other parameters (textures, surfaces, samplers) are left out. Throws ImageError if the text ends
// early.
Layouts layouts_of_ptx(std::string_view text);

class KernelParameters {
 public:
  // The container has to stay in memory. It is read only when a kernel is looked up.
  explicit KernelParameters(Bytes container) {
    try {
      members_ = members_of(container);
    } catch (const ImageError&) {
      members_.clear();  // a damaged container has no kernels
    }
  }

  // Returns nullptr if no readable member has the kernel.
  const Layout* of(const std::string& kernel) {
    for (;;) {
      if (const auto known = layouts_.find(kernel); known != layouts_.end()) return &known->second;
      if (read_ == members_.size()) return nullptr;
      read_next();
    }
  }
  // Returns the reason why members that may be sound could not be read (a missing library), in one
  // line; empty otherwise. Known after a kernel was not found.
  const std::string& unread() const { return unread_; }

 private:
  // All members have the same source, so that the first one with a kernel decides. A damaged member
  // has no kernels.
  void read_next() {
    const Member& member = members_[read_++];
    if (member.kind == Kind::other) return;
    try {
      std::vector<std::byte> room;
      const Bytes content = plain_content(member, room);
      layouts_.merge(
          member.kind == Kind::cubin
              ? layouts_of_cubin(content)
              : layouts_of_ptx({reinterpret_cast<const char*>(content.data()), content.size()}));
    } catch (const ImageError&) {
      return;
    } catch (const MissingLibrary& error) {
      unread_ = error.what();
    }
  }

  std::vector<Member> members_;
  std::size_t read_ = 0;  // number of members that were read
  Layouts layouts_;
  std::string unread_;
};

}  // namespace gpucast::remote::images
