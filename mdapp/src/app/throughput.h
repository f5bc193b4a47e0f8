// Ordered pairs a second of a force kernel, without copies.
#pragma once

#include <stop_token>

#include "engine/engine.h"
#include "physics/system.h"

namespace gpucast::mdapp {

struct KernelRun {
  KernelChoice kernel;
  Output output = Output::forces;
  int gpus = 1;  // which compute their slices at the same time
};

struct ThroughputOptions {
  double warm_up = 1;    // s at least
  double seconds = 0.5;  // of repetitions at least ...
  int repetitions = 5;   // ... and so many
};

// Median seconds of one evaluation of all n^2 pairs; 0 where it was interrupted before the first.
double kernel_seconds(Engine& engine, const System& system, const KernelRun& run,
                      const ThroughputOptions& options, const std::stop_token& interrupted);

}  // namespace gpucast::mdapp
