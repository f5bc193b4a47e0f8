// The probe's kernels for the fake driver.
#include <cstring>

#include "fake/kernels.h"
#include "mixed.h"

namespace {

using gpucast::fake::Contents;
using gpucast::fake::kernel;
using gpucast::fake::Shape;
using gpucast::probe::Mixed;

double factors[4];
unsigned long long counter;

void saxpy(const Shape& /*shape*/, int n, float a, const float* x, float* y) {
  for (int k = 0; k < n; ++k)
    y[k] = a * x[k] + y[k];
}

void mixed_sum(const Shape& /*shape*/, char first, Mixed mixed, short second, double third,
               double* sum) {
  *sum = first + mixed.byte + mixed.real + mixed.half + static_cast<double>(mixed.wide[0]) +
         static_cast<double>(mixed.wide[1]) + static_cast<double>(mixed.wide[2]) + second + third;
}

void empty(const Shape& /*shape*/) {}

void read_factors(const Shape& shape, double* result) {
  std::memcpy(result, factors, shape.block[0] * sizeof(double));
}

void count(const Shape& /*shape*/, unsigned long long amount) { counter += amount; }

}  // namespace

extern "C" __attribute__((visibility("default"))) void gpucast_fake_contents(Contents& contents) {
  contents.kernels.push_back(kernel("saxpy", saxpy));
  contents.kernels.push_back(kernel("mixed_sum", mixed_sum));
  contents.kernels.push_back(kernel("empty", empty));
  contents.kernels.push_back(kernel("read_factors", read_factors));
  contents.kernels.push_back(kernel("count", count));
  contents.variables.push_back({"factors", factors, sizeof factors});
  contents.variables.push_back({"counter", &counter, sizeof counter});
}
