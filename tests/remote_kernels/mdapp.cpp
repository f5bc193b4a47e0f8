// gpucast-mdapp's kernel `claret` for the fake driver: the one of its CPU devices, so that a
// trajectory over remote GPUs is theirs to the last bit.
#include <string>

#include "fake/kernels.h"
#include "kernels/cuda/launch.h"
#include "kernels/host/host_kernels.h"

namespace {

using namespace gpucast::mdapp;
using gpucast::fake::Contents;
using gpucast::fake::kernel;
using gpucast::fake::Shape;

void claret(const Shape& /*shape*/, ForceArguments a) { host::claret(a); }

template <BoundaryKind boundary>
void add(Contents& contents) {
  for (const char* with_sums : {"false", "true"}) {
    contents.kernels.push_back(kernel("claret<(gpucast::mdapp::BoundaryKind)" +
                                          std::to_string(static_cast<int>(boundary)) + ", " +
                                          with_sums + ">",
                                      claret));
  }
}

}  // namespace

extern "C" __attribute__((visibility("default"))) void gpucast_fake_contents(Contents& contents) {
  add<BoundaryKind::open>(contents);
  add<BoundaryKind::dsf>(contents);
  add<BoundaryKind::minimum_image>(contents);
}
