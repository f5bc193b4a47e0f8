// The force kernels of the host engine, for the processor that the program runs on.
#pragma once

#include <vector>

#include "physics/boundary.h"
#include "physics/pair.h"
#include "physics/particle.h"

namespace gpucast::mdapp::host {

// As for the GPU's kernels (kernels/cuda/launch.h), in host memory.
struct ForceArguments {
  const Position* positions = nullptr;  // of all n
  Force* forces = nullptr;              // of the slice
  PairSums* sums = nullptr;             // of the slice; nullptr where no energies are asked for
  int n = 0;
  int cations = 0;
  Slice slice;
  ForceField<float> field{};
  BoundaryKind boundary = BoundaryKind::open;
};

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
