// The force kernels of the host engine, for the processor that the program runs on.
#pragma once

#include <vector>

#include "kernels/pair_sum.h"

namespace gpucast::mdapp::host {

// One particle i after another over all j: plain scalar code with exact functions.
void claret(const ForceArguments& arguments);

// Several particles i side by side in vector registers with approximate functions. A particle's
// force does not depend on the other lanes of its register.
void tuned(const ForceArguments& arguments);

// An instruction set that `tuned` is compiled for.
struct InstructionSet {
  const char* name;  // "AVX-512", "AVX2", "SSE2" or "generic"
  void (*tuned)(const ForceArguments& arguments);
};

// The instruction sets of this processor, best first; `tuned` uses the first.
std::vector<InstructionSet> instruction_sets();

}  // namespace gpucast::mdapp::host
