// Every schedule and what it is run with.
#pragma once

#include <array>
#include <string>

#include "schedule/stepper.h"

namespace gpucast::mdapp::test {

inline constexpr std::array<ScheduleName, 2> stars = {ScheduleName::star_serial,
                                                      ScheduleName::star_async};
inline constexpr std::array<ScheduleName, 3> schedules = {
    ScheduleName::star_serial, ScheduleName::star_async, ScheduleName::allgather};

inline const std::array<IntegratorOptions, 2> integrators = {{
    {.kind = IntegratorKind::verlet, .dt = 2e-15},
    {.kind = IntegratorKind::nose_hoover, .dt = 2e-15, .temperature = 1100},
}};

inline std::string describe(ScheduleName schedule, int gpus) {
  return std::string(name(schedule)) + " on " + std::to_string(gpus);
}

inline std::string describe(IntegratorKind kind) {
  return kind == IntegratorKind::verlet ? "verlet" : "nose-hoover";
}

}  // namespace gpucast::mdapp::test
