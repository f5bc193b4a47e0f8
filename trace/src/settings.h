// What `gpucast trace` tells the library within the program: variables of the environment.
//
//   GPUCAST_TRACE          folder of the recording; without it nothing is recorded
//   GPUCAST_TRACE_CUPTI    CUPTI's library: paths, separated by colons, the best first
//   GPUCAST_TRACE_GRAPHS   `nodes` (default): a row for each node of a graph; `whole`: for a launch
//   GPUCAST_TRACE_AFTER    seconds of the process, from its first CUDA call, that are left out
//   GPUCAST_TRACE_SECONDS  seconds that are recorded; 0 (default): all
//   GPUCAST_TRACE_CALLS    calls after which recording ends; 0 (default): never
//   GPUCAST_TRACE_PHASE    seconds of the first full phase (phases.h); 0: all is one (0.05)
//   GPUCAST_TRACE_LIGHT_TO_FULL  how much longer a light phase is than the full one before it (3)
//   GPUCAST_TRACE_BEGIN    `light`: with a light phase
//   GPUCAST_TRACE_ONLY     the one CUDA function whose calls are recorded, and nothing else
//   GPUCAST_TRACE_FLUSH    seconds after which at the latest a record is in the file (0.1)
//   GPUCAST_TRACE_LOG      anything: how it went with NVTX is said on stderr
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace gpucast::trace {

struct Settings {
  std::filesystem::path folder;
  std::vector<std::string> cupti;
  bool whole_graphs = false;
  std::chrono::nanoseconds after{0};
  std::chrono::nanoseconds duration{0};
  std::uint64_t calls = 0;
  std::chrono::nanoseconds phase = std::chrono::milliseconds(50);
  int light_to_full = 3;
  bool begins_full = true;
  std::string only;
  std::chrono::nanoseconds flush = std::chrono::milliseconds(100);
};

// Those of this process. Values that are none count as absent: `gpucast trace` has checked them.
Settings settings_from_environment();

}  // namespace gpucast::trace
