#include "kernels/host/vector_kernel.h"

void gpucast::mdapp::host::tuned_avx2(const ForceArguments& arguments) {
  vector_forces<Avx2>(arguments);
}
