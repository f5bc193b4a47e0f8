// PTX, the text that a driver compiles: `.entry NAME(.param ..., ...)` for each kernel.
#pragma once

#include <string_view>

#include "images/layouts.h"

namespace gpucast::remote::images {

// Of all its kernels whose parameters are numbers, pointers and structures; those with parameters
// of other kinds (textures, surfaces, samplers) are left out. ImageError where it ends early.
Layouts layouts_of_ptx(std::string_view text);

}  // namespace gpucast::remote::images
