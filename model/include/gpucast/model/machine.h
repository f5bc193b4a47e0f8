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
enum class Fact { cores, sms, block };

constexpr double known(const Machine& machine, Fact fact) {
  return fact == Fact::cores ? machine.cores : fact == Fact::sms ? machine.sms : machine.block;
}

constexpr std::string_view name(Fact fact) {
  return fact == Fact::cores ? "cores" : fact == Fact::sms ? "sms" : "block";
}

// The fact in words, for messages.
constexpr std::string_view phrase(Fact fact) {
  return fact == Fact::cores ? "the number of cores of a GPU"
         : fact == Fact::sms ? "the number of multiprocessors"
                             : "the threads a block";
}

}  // namespace gpucast::model
