// What a model has to know of the GPU: counts, never timings.
#pragma once

#include <string_view>

namespace gpucast::model {

// A count of 0 means "not known"; terms that need it cannot be used then.
struct Machine {
  double cores = 0;  // c: FP32 lanes of one GPU
  double sms = 0;    // s: multiprocessors of one GPU
  double block = 0;  // b: threads a block in the kernel that was timed
};

// A count that a term may need.
struct Fact {
  double Machine::* count;
  std::string_view name;
  std::string_view phrase;  // for messages
};

inline constexpr Fact cores{&Machine::cores, "cores", "the number of cores of a GPU"};
inline constexpr Fact sms{&Machine::sms, "sms", "the number of multiprocessors"};
inline constexpr Fact block{&Machine::block, "block", "the threads a block"};

}  // namespace gpucast::model
