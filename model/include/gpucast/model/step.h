// What a term is told of a step: its size, its GPU count, and what follows from them.
#pragma once

#include <cmath>

namespace gpucast::model {

// Bytes of a particle on its way to a GPU (position and type, four floats) and back (force, three).
inline constexpr double bytes_in_per_particle = 16;
inline constexpr double bytes_out_per_particle = 12;

// A step of n particles on N GPUs. GPU g computes the forces on its share of ceil(n / N) particles
// from all n particles; all positions go to every GPU, each sends the forces on its n / N back.
struct Step {
  double n = 0;
  double gpus = 0;  // N; 0 where only the host's part is asked for

  // Particles of the GPU that has the most.
  double share() const { return std::ceil(n / gpus); }

  // How many times a GPU's kernel visits each particle of its share: once for every other one.
  double visits() const { return n; }

  // Interactions computed by the GPU that has the most.
  double work() const { return share() * visits(); }

  double bytes_in() const { return bytes_in_per_particle * n; }           // to each GPU
  double bytes_out() const { return bytes_out_per_particle * n / gpus; }  // from each GPU
};

}  // namespace gpucast::model
