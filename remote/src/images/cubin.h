// Machine code: an ELF file with a section .nv.info.NAME for each kernel.
#pragma once

#include "images/image_error.h"
#include "images/layouts.h"

namespace gpucast::remote::images {

// Of all its kernels. ImageError where it is no cubin, or one that contradicts itself.
Layouts layouts_of_cubin(Bytes cubin);

}  // namespace gpucast::remote::images
