// A kernel with more parameters than in the tests' programs, as a server would claim that wants to
// read beyond a program's arguments.

#include "fake/kernels.h"

namespace {

using gpucast::fake::Contents;
using gpucast::fake::kernel;
using gpucast::fake::Shape;

using Much = std::array<char, 32000>;

void saxpy(const Shape& /*shape*/, Much /*more*/, float /*a*/, const float* /*x*/, float* /*y*/) {}

}  // namespace

extern "C" __attribute__((visibility("default"))) void gpucast_fake_contents(Contents& contents) {
  contents.kernels.push_back(kernel("saxpy", saxpy));
}
