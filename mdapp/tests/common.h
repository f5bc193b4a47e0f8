// Shared by several tests: melts, schedules, and comparisons that show differences.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <random>
#include <string_view>

#include "schedule/schedule.h"

namespace gpucast::mdapp::test {

// EXPECT_TRUE(contains(text, part)) shows both on failure.
inline ::testing::AssertionResult contains(std::string_view text, std::string_view part) {
  if (text.find(part) != std::string_view::npos) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << "\"" << text << "\" does not hold \"" << part << "\"";
}

// Bitwise equality, also of NaN. T: a struct of floats.
template <class T>
bool same_bits(std::span<const T> a, std::span<const T> b) {
  using Words = std::array<std::uint32_t, sizeof(T) / sizeof(std::uint32_t)>;
  return std::ranges::equal(
      a, b, {}, [](const T& x) { return std::bit_cast<Words>(x); },
      [](const T& x) { return std::bit_cast<Words>(x); });
}

inline constexpr std::array<Schedule, 3> schedules = {Schedule::star_serial, Schedule::star_async,
                                                      Schedule::allgather};

inline const std::array<IntegratorOptions, 2> integrators = {{
    {.kind = IntegratorKind::verlet, .dt = 2e-15},
    {.kind = IntegratorKind::nose_hoover, .dt = 2e-15, .temperature = 1100},
}};

// body(integrator, schedule) for all of them.
template <class Body>
void each_way(Body body) {
  for (const IntegratorOptions& integrator : integrators) {
    for (const Schedule schedule : schedules) {
      SCOPED_TRACE(std::string(name(schedule)) +
                   (integrator.kind == IntegratorKind::verlet ? " verlet" : " nose-hoover"));
      body(integrator, schedule);
    }
  }
}

inline const std::array<Surroundings, 3> all_surroundings = {{
    {.kind = BoundaryKind::open},
    {.kind = BoundaryKind::dsf},
    {.kind = BoundaryKind::minimum_image},
}};

// Rock salt with every coordinate moved by up to half an angstrom: pairs are as close as in a melt,
// and none overlap.
inline System shaken(const Salt& salt, int n, const Surroundings& around = {}) {
  System system = rock_salt(salt, n, around);
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> displacement(-0.5, 0.5);
  for (double& x : system.r)
    x += displacement(random);
  return system;
}

// The same, moving at 1100 K.
inline System melt(const Salt& salt, int n, const Surroundings& around = {}) {
  System system = shaken(salt, n, around);
  set_velocities(system, 1100, 5);
  return system;
}

}  // namespace gpucast::mdapp::test
