// The parameters of kernels.cu, for its compiler and the host's.
#pragma once

struct Mixed {
  double real;
  char byte;
};
struct Odd {
  char bytes[13];
};
struct alignas(32) Wide {
  float values[3];
};
struct Nested {
  Mixed inner[3];
  short last;
};
struct Large {
  char bytes[1500];
};
// More than 4 KiB, which sm_90 and PTX of CUDA 12.1 accept.
struct Huge {
  char bytes[15000];
};
