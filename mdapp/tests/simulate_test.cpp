#include "app/simulate.h"

#include <gtest/gtest.h>

#include <cmath>

#include "fake_engine.h"
#include "physics/observables.h"

namespace gpucast::mdapp {
namespace {

using test::FakeStepper;

struct Seen {
  std::int64_t made = 0;
  std::vector<double> times;
};

Seen times_of(Simulation simulation, const std::stop_token& interrupted = {},
              const std::function<void(int)>& at_step = {}) {
  Seen seen;
  FakeStepper stepper(at_step);
  Processes one;
  simulation.observed = [&](const Observation& observation) {
    seen.times.push_back(observation.time);
  };
  seen.made = simulate(stepper, simulation, one, interrupted);
  return seen;
}

TEST(Simulate, ObservesTheStartEveryFewStepsAndTheEnd) {
  const Seen seen = times_of({.steps = 10, .every = 4, .dt = 1});
  EXPECT_EQ(seen.made, 10);
  EXPECT_EQ(seen.times, (std::vector<double>{0, 4, 8, 10}));
}

TEST(Simulate, EndsEarlyWhenInterrupted) {
  std::stop_source interrupt;
  const Seen seen =
      times_of({.steps = 1000000, .every = 1000000, .dt = 1}, interrupt.get_token(), [&](int made) {
        if (made == 100) interrupt.request_stop();
      });
  EXPECT_GT(seen.made, 100);
  EXPECT_LT(seen.made, 1000);
  EXPECT_EQ(seen.times, std::vector<double>{0});
}

Observation at(double picoseconds, double total) {
  return {.time = picoseconds * 1e-12, .total = total, .temperature = 300, .pressure = 1e5};
}

TEST(Summary, DriftIsTheSlopeOfTheTotalEnergy) {
  const Summary summary = summarize({at(0, -4), at(1, -3.9), at(2, -3.8)});
  EXPECT_NEAR(summary.total_drift, 0.1, 1e-12);
  EXPECT_NEAR(summary.total_rms, 0.1 * std::sqrt(2.0 / 3), 1e-12);
  EXPECT_DOUBLE_EQ(summary.mean_temperature, 300);
  EXPECT_DOUBLE_EQ(summary.mean_pressure, 1e5);
}

TEST(Summary, OfOneObservationHasNoDrift) { EXPECT_EQ(summarize({at(0, -4)}).total_drift, 0); }

// A run of 64 ions in double precision that starts at the thermostat's temperature.
Summary in_double(const IntegratorOptions& integrator, std::int64_t steps, std::int64_t every) {
  System system = rock_salt(nacl(), 64);
  set_velocities(system, integrator.temperature, 1);
  const auto stepper = double_stepper(std::move(system), integrator, 1);
  std::vector<Observation> observations;
  Processes one;
  simulate(*stepper,
           {.steps = steps,
            .every = every,
            .dt = integrator.dt,
            .observed = [&](const Observation& seen) { observations.push_back(seen); }},
           one, {});
  return summarize(observations);
}

// Over a picosecond.
TEST(DoubleStepper, HalvingTheTimeStepQuartersTheErrorOfTheEnergy) {
  const double whole = in_double({.dt = 4e-15, .temperature = 1100}, 250, 2).total_rms;
  const double half = in_double({.dt = 2e-15, .temperature = 1100}, 500, 4).total_rms;
  EXPECT_GT(whole / half, 3.5);
  EXPECT_LT(whole / half, 5);
}

TEST(DoubleStepper, NoseHooverKeepsTheTemperatureNear) {
  const IntegratorOptions options{.kind = IntegratorKind::nose_hoover, .temperature = 600};
  EXPECT_NEAR(in_double(options, 4000, 10).mean_temperature, 600, 30);
}

}  // namespace
}  // namespace gpucast::mdapp
