// Whether what is asked for fits this machine; asked before anything is measured.
#pragma once

#include <cstdint>

#include "engine/engine.h"
#include "schedule/processes.h"
#include "schedule/schedule.h"

namespace gpucast::mdapp {

inline constexpr int most_particles = 1'000'000'000;
inline constexpr int most_gpus = 65536;

// Memory of this host that is not in use, bytes.
std::int64_t host_bytes_free();

// Throws InputError where this host cannot hold n particles.
void require_host_memory(int n);

// Throws InputError where the engine does not have the devices, the kernel, or the memory, here or
// on a device; the message names the option and says how much is needed and how much there is.
void require_capacity(const Engine& engine, Processes& processes, int n,
                      const ScheduleOptions& schedule);

}  // namespace gpucast::mdapp
