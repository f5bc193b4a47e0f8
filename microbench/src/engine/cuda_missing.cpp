// In place of the CUDA engine where there is no CUDA compiler to build it with.
#include "engine/engine.h"

namespace gpucast::microbench {

std::unique_ptr<Engine> cuda_engine(std::string& why_not) {
  why_not = "this program was built without CUDA";
  return nullptr;
}

}  // namespace gpucast::microbench
