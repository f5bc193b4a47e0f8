// What a program's own GPU code says of its kernels' parameters. A launch hands over pointers to
// arguments without their sizes, so that whoever states the sizes has so much of the program's
// memory sent: nobody else is asked who can be mistaken or lie.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "images/fat_binary.h"
#include "protocol/calls.h"

namespace gpucast::remote::images {

// One kernel's parameters, in their order.
using Layout = std::vector<Parameter>;
// By the kernels' names in the image, which for C++ are mangled.
using Layouts = std::map<std::string, Layout, std::less<>>;

// Whether `told` takes as many parameters of the same sizes, in their order, in a buffer that a
// launch may have. Not the same places: where a parameter's alignment is beyond 16 bytes, these
// differ between architectures of one image.
inline bool same_parameters(const Layout& own, const Layout& told) {
  if (own.size() != told.size()) return false;
  std::uint64_t end = 0;
  for (std::size_t k = 0; k < own.size(); ++k) {
    if (told[k].bytes != own[k].bytes || told[k].offset < end) return false;
    end = std::uint64_t{told[k].offset} + told[k].bytes;
  }
  return end <= most_argument_bytes;
}

// The layouts of all kernels of machine code, an ELF file with a section .nv.info.NAME for each.
// ImageError where it is no cubin, or one that contradicts itself.
Layouts layouts_of_cubin(Bytes cubin);

// The layouts of kernels of PTX, the text that a driver compiles: `.entry NAME(.param ..., ...)`
// for each whose parameters are numbers, pointers and structures; those with parameters of other
// kinds (textures, surfaces, samplers) are left out. ImageError where it ends early.
Layouts layouts_of_ptx(std::string_view text);

class KernelParameters {
 public:
  // The container has to stay. Nothing of it is read before it is asked for.
  explicit KernelParameters(Bytes container);

  // nullptr where no member that can be read has the kernel.
  const Layout* of(const std::string& kernel);
  // Why members could not be read though they may be sound (a library is missing), in a line; empty
  // where that was not so. Known once a kernel was not found.
  const std::string& unread() const { return unread_; }

 private:
  void read_next();

  std::vector<Member> members_;
  std::size_t read_ = 0;  // how many of them
  Layouts layouts_;
  std::string unread_;
};

}  // namespace gpucast::remote::images
