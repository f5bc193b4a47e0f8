// Checks of what a program relies on in the CUDA runtime, on whatever devices it finds.
#pragma once

#include <cuda_runtime.h>

#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

namespace gpucast::probe {

class Failed : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

void require(bool right, const std::string& what);
void require(cudaError_t status, const char* call);

struct Check {
  std::string name;
  std::function<void()> run;  // throws Failed
};

std::vector<Check> checks();

}  // namespace gpucast::probe
