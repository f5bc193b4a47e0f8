#include "kernels/host/vector_kernel.h"

void gpucast::mdapp::host::tuned_generic(const ForceArguments& arguments) {
  vector_forces<Generic>(arguments);
}
