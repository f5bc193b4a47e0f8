#include "kernels/host/vector_kernel.h"

void gpucast::mdapp::host::tuned_sse2(const ForceArguments& arguments) {
  vector_forces<Sse2>(arguments);
}
