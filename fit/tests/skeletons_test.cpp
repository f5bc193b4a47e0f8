// Skeletons made from two schedules written out again as an oracle: `Star` does not call model/. A
// skeleton is a step whose kernels only keep each GPU busy.
#include <gtest/gtest.h>

#include "gpucast/fit/estimate.h"
#include "synthetic.h"

namespace gpucast::fit {
namespace {

using synthetic::Noisy;
using synthetic::parameter;
using synthetic::Samples;

// A remote path. Seconds, bytes/second.
struct Star {
  double t_kernel = 12e-6;
  double B_host = 8e9;
  double L_h2d = 20e-6;
  double B_h2d = 5e9;
  double L_d2h = 30e-6;
  double B_d2h = 2e9;

  double copies(double n, double gpus) const {
    return L_h2d + 16 * n / B_h2d + L_d2h + 12 * n / gpus / B_d2h;
  }
  // The time of a step in addition to a kernel of `busy` seconds.
  double all_at_once(double n, double gpus, double /*busy*/) const {
    return copies(n, gpus) + (gpus - 1) * (16 * n + 12 * n / gpus) / B_host + gpus * t_kernel;
  }
  double by_turns(double n, double gpus, double busy) const {
    return gpus * (copies(n, gpus) + t_kernel) + (gpus - 1) * busy;
  }
};

constexpr Star star{};
using Beyond = double (Star::*)(double n, double gpus, double busy) const;

constexpr double skeleton_sizes[] = {256, 1024, 4096, 16384, 65536, 262144};
constexpr double counts[] = {1, 2, 3, 4};
constexpr double short_and_long[] = {5e-6, 20e-6, 200e-6};

Cell skeleton(double n, double gpus, double busy) {
  return {.kind = Kind::skeleton, .n = n, .gpus = gpus, .busy = busy};
}

Observations skeletons(Beyond beyond, std::uint64_t seed, double sigma,
                       std::span<const double> kernels = short_and_long) {
  Noisy noisy(seed, sigma);
  Samples samples;
  for (const double n : skeleton_sizes) {
    for (const double gpus : counts) {
      for (const double busy : kernels)
        for (int repetition = 0; repetition < 5; ++repetition)
          samples.add(skeleton(n, gpus, busy), noisy(busy + (star.*beyond)(n, gpus, busy)));
    }
  }
  return samples.observations();
}

model::StepModel model_of(const model::ComTerm& com) {
  return {model::StepTerms{model::Work{}, model::Linear{}, com}, {}, 1, {}};
}

// Skeletons of sizes, GPU counts and kernels that were not measured.
double largest_error_beyond(const Fit& fitted, Beyond beyond) {
  const Eigen::VectorXd values = fitted.values();
  double largest = 0;
  for (const double n : {500.0, 3000.0, 40000.0, 400000.0}) {
    for (const double gpus : {1.0, 2.0, 6.0, 8.0}) {
      for (const double busy : {10e-6, 100e-6, 1e-3}) {
        const double seconds = fitted.model.skeleton_seconds(values.data(), n, gpus, busy);
        const double truth = busy + (star.*beyond)(n, gpus, busy);
        largest = std::max(largest, std::abs(seconds / truth - 1));
      }
    }
  }
  return largest;
}

TEST(SkeletonsAlone, TellTheCommunicationOfQueuedCopies) {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    const Fit fitted =
        fit(model_of(model::StarAsync{}), skeletons(&Star::all_at_once, seed, 0.02), {1});
    EXPECT_TRUE(fitted.estimate().converged);
    EXPECT_NEAR(parameter(fitted, "t_kernel") / star.t_kernel, 1, 0.03) << seed;
    EXPECT_NEAR(parameter(fitted, "B_host") / star.B_host, 1, 0.03) << seed;
    EXPECT_NEAR(parameter(fitted, "B_h2d") / star.B_h2d, 1, 0.05) << seed;
    EXPECT_NEAR(parameter(fitted, "B_d2h") / star.B_d2h, 1, 0.05) << seed;
    // Every step has both: a copy up and one down.
    EXPECT_NEAR(
        (parameter(fitted, "L_h2d") + parameter(fitted, "L_d2h")) / (star.L_h2d + star.L_d2h), 1,
        0.03)
        << seed;
    EXPECT_LT(largest_error_beyond(fitted, &Star::all_at_once), 0.03) << seed;
  }
}

TEST(SkeletonsAlone, TellTheCommunicationByTurns) {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    const Fit fitted =
        fit(model_of(model::StarAsyncTurns{}), skeletons(&Star::by_turns, seed, 0.02), {1});
    EXPECT_TRUE(fitted.estimate().converged);
    EXPECT_NEAR(parameter(fitted, "B_h2d") / star.B_h2d, 1, 0.03) << seed;
    EXPECT_NEAR(parameter(fitted, "B_d2h") / star.B_d2h, 1, 0.05) << seed;
    EXPECT_LT(largest_error_beyond(fitted, &Star::by_turns), 0.02) << seed;
  }
}

TEST(SkeletonsAlone, SayNothingAboutTheGpuAndCpuTerm) {
  const Fit fitted = fit(model_of(model::StarAsync{}), skeletons(&Star::all_at_once, 1, 0.02), {1});
  for (std::size_t i = 0; i < fitted.model.parameter_count(); ++i) {
    const std::string& name = fitted.model.parameter_list()[i].name;
    const bool of_communication =
        name != "t_0" && name != "t_pair" && name != "t_root" && name != "t_cpu";
    EXPECT_EQ(fitted.identification.observed[i], of_communication) << name;
  }
}

TEST(SkeletonsAlone, HaveNoiseOfTheirOwn) {
  Noisy transfers(7, 0.005);
  Samples samples;
  const Observations alone = skeletons(&Star::all_at_once, 6, 0.04);
  for (std::size_t j = 0; j < alone.cell_count(); ++j)
    for (std::size_t i = alone.first(j); i < alone.first(j + 1); ++i)
      samples.add(alone.cells()[j], std::exp(alone.log_seconds()[i]));
  for (const double bytes : synthetic::transfer_sizes) {
    for (int repetition = 0; repetition < 20; ++repetition) {
      samples.add(synthetic::transfer(model::Route::h2d, bytes),
                  transfers(star.L_h2d + bytes / star.B_h2d));
    }
  }
  const Fit fitted = fit(model_of(model::StarAsync{}), samples.observations(), {1});
  EXPECT_NEAR(fitted.estimate().sigma[group(skeleton(1, 1, 1))], 0.04, 0.006);
  EXPECT_NEAR(fitted.estimate().sigma[group(synthetic::transfer(model::Route::h2d, 1))], 0.005,
              0.0015);
}

// The start depends on what surrounds the kernels, and not on the kernels: those of 2 ms are up to
// a hundred times as long.
void expect_a_start_within_a_factor_of_two(const model::ComTerm& com, Beyond beyond) {
  constexpr double with_very_long[] = {20e-6, 2e-3};
  constexpr double very_long[] = {2e-3};
  for (const std::span<const double> kernels :
       {std::span<const double>(with_very_long), std::span<const double>(very_long)}) {
    const model::StepModel model = model_of(com);
    const Observations observations = skeletons(beyond, 4, 1e-4, kernels);
    const Eigen::VectorXd values = values_from_log(model, start_values(model, observations));
    for (const double n : skeleton_sizes) {
      for (const double gpus : counts) {
        for (const double busy : kernels) {
          const double computing = name(com) == "star-async-turns" ? gpus * busy : busy;
          const double truth = busy + (star.*beyond)(n, gpus, busy) - computing;
          const double rest = model.skeleton_seconds(values.data(), n, gpus, busy) - computing;
          EXPECT_NEAR(std::log(rest / truth), 0, std::log(2.0))
              << "n " << n << ", gpus " << gpus << ", busy " << busy;
        }
      }
    }
  }
}

TEST(StartValues, OfLongSkeletonsAreAboutWhatSurroundsTheKernels) {
  expect_a_start_within_a_factor_of_two(model::StarAsync{}, &Star::all_at_once);
}

TEST(StartValues, OfSkeletonsByTurnsLeaveOutEveryTurn) {
  expect_a_start_within_a_factor_of_two(model::StarAsyncTurns{}, &Star::by_turns);
}

TEST(StartValues, TakeSkeletonsShorterThanTheirKernelsForNoise) {
  // One that ended before its kernel could, by an error of a clock or a sample.
  Samples samples;
  for (const double n : skeleton_sizes)
    for (const double gpus : counts)
      samples.add(skeleton(n, gpus, 2e-3), n > 256 ? 2e-3 + star.all_at_once(n, gpus, 0) : 1.9e-3);
  const model::StepModel model = model_of(model::StarAsync{});
  const Eigen::VectorXd start = start_values(model, samples.observations());
  EXPECT_TRUE(start.allFinite());
  const Eigen::VectorXd values = values_from_log(model, start);
  EXPECT_LT(model.skeleton_seconds(values.data(), 256, 1, 2e-3), 2.3e-3);
  EXPECT_GT(model.skeleton_seconds(values.data(), 262144, 4, 2e-3), 2.5e-3);
}

}  // namespace
}  // namespace gpucast::fit
