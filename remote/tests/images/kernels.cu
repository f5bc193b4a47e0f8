// Kernels with parameters of many kinds; all but one read their arguments.
#include "kernels.h"

extern "C" __global__ void nothing() {}
extern "C" __global__ void unused(int, double, char, float*) {}
extern "C" __global__ void scalars(char a, short b, int c, long long d, float e, double f, bool g,
                                   double* to) {
  *to = a + b + c + static_cast<double>(d) + e + f + (g ? 1 : 0);
}
extern "C" __global__ void structures(Mixed a, char b, Odd c, short d, Nested e, double* to) {
  *to = a.real + b + c.bytes[12] + d + e.inner[2].real + e.last;
}
extern "C" __global__ void wide(char a, Wide b, char c, float* to) { *to = a + b.values[2] + c; }
extern "C" __global__ void large(char a, Large b, Large c, int k, char* to) {
  *to = static_cast<char>(a + b.bytes[k] + c.bytes[k]);
}
namespace of_the_test {
template <class T>
__global__ void store(T value, T* to) {
  *to = value;
}
template __global__ void store<Mixed>(Mixed, Mixed*);
template __global__ void store<char>(char, char*);
}  // namespace of_the_test

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
extern "C" __global__ void huge(int k, Huge a, Huge b, char* to) {
  *to = static_cast<char>(a.bytes[k] + b.bytes[k]);
}
#endif
