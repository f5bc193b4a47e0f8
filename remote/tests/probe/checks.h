// Checks of the properties of the CUDA runtime that programs rely on, on all available devices.
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

// Mixes calls of all kinds on every device by several threads for this time; throws Failed if a
// result is wrong. Returns the number of rounds, each of which allocates and frees memory, a stream
// and events.
std::uint64_t soak(double seconds);

}  // namespace gpucast::probe
