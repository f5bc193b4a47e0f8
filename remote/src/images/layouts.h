// How kernels' parameters lie in the buffer of a launch, as images say it.
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

}  // namespace gpucast::remote::images
