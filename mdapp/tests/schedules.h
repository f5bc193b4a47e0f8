// Every schedule and what it is run with.
#pragma once

#include <array>
#include <string>

#include "schedule/schedule.h"

namespace gpucast::mdapp::test {

inline constexpr std::array<Schedule, 2> stars = {Schedule::star_serial, Schedule::star_async};
inline constexpr std::array<Schedule, 3> schedules = {Schedule::star_serial, Schedule::star_async,
                                                      Schedule::allgather};

inline const std::array<IntegratorOptions, 2> integrators = {{
    {.kind = IntegratorKind::verlet, .dt = 2e-15},
    {.kind = IntegratorKind::nose_hoover, .dt = 2e-15, .temperature = 1100},
}};

inline std::string describe(Schedule schedule, int gpus) {
  return std::string(name(schedule)) + " on " + std::to_string(gpus);
}

inline std::string describe(IntegratorKind kind) {
  return kind == IntegratorKind::verlet ? "verlet" : "nose-hoover";
}

}  // namespace gpucast::mdapp::test
