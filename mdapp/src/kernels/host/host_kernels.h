// The force kernels of the host engine, for the processor that the program runs on.
#pragma once

#include <vector>

#include "kernels/pair_sum.h"

namespace gpucast::mdapp::host {

// One particle i after another over all j: plain scalar code, exact functions.
void claret(const ForceArguments& arguments);

// Several particles i side by side in vector registers, approximate functions. A particle's force
// does not depend on what it shares a register with.
void tuned(const ForceArguments& arguments);

// What `tuned` is compiled for.
struct InstructionSet {
  const char* name;  // "AVX-512", "AVX2", "SSE2" or "generic"
  void (*tuned)(const ForceArguments& arguments);
};

// Those that this processor has, the best first, which is what `tuned` uses.
std::vector<InstructionSet> instruction_sets();

}  // namespace gpucast::mdapp::host
