#include "kernels/host/vector_kernel.h"

void gpucast::mdapp::host::tuned_avx512(const ForceArguments& arguments) {
  vector_forces<Avx512>(arguments);
}
