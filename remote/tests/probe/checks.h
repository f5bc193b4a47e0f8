// Checks of what a program relies on in the CUDA runtime, on whatever devices it finds.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
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

// All kinds of calls, mixed: on every device, by several threads, for these seconds; Failed where
// something comes out wrong. Returns how many rounds were made: each takes memory, a stream and
// events, and gives them back.
std::uint64_t soak(double seconds);

}  // namespace gpucast::probe
