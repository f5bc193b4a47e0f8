#include "gpucast/fit/breakpoints.h"

#include <gtest/gtest.h>

#include "gpucast/fit/estimate.h"
#include "synthetic.h"

namespace gpucast::fit {
namespace {

constexpr model::Route h2d = model::Route::h2d;

// A chain of straight pieces, as an independent oracle: throughput of each piece and where it ends.
struct Chain {
  double latency;
  std::vector<double> end;
  std::vector<double> throughput;  // one more than ends

  double operator()(double bytes) const {
    double time = latency;
    double begin = 0;
    for (std::size_t piece = 0; piece < throughput.size(); ++piece) {
      const double stop = piece < end.size() ? std::min(bytes, end[piece]) : bytes;
      time += std::max(0.0, stop - begin) / throughput[piece];
      begin = stop;
    }
    return time;
  }
};

const auto straight = [] { return Chain{1e-5, {}, {6e9}}; };
const auto bent = [] { return Chain{1e-5, {65536}, {6e8, 1.2e10}}; };
const auto twice_bent = [] { return Chain{2e-6, {8192, 524288}, {3e8, 4e9, 2.5e10}}; };

Observations timed(const Chain& chain, std::uint64_t seed, double sigma, double outliers = 0) {
  synthetic::Noisy noisy(seed, sigma, outliers);
  synthetic::Samples samples;
  for (int power = 6; power <= 26; ++power) {
    const double bytes = std::ldexp(1.0, power);
    for (int repetition = 0; repetition < 5; ++repetition)
      samples.add(synthetic::transfer(h2d, bytes), noisy(chain(bytes)));
  }
  return samples.observations();
}

bool within_factor(double a, double b, double factor) { return a <= b * factor && b <= a * factor; }

TEST(Breakpoints, AreNotSeenInTheNoiseOfAStraightLine) {
  int none = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed)
    none += find_breakpoints(timed(straight(), seed, 0.03), 3).empty() ? 1 : 0;
  EXPECT_GE(none, 57);
}

TEST(Breakpoints, AreNotSeenInDisturbedSamplesOfAStraightLine) {
  int none = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed)
    none += find_breakpoints(timed(straight(), seed, 0.03, 0.08), 3).empty() ? 1 : 0;
  EXPECT_GE(none, 54);
}

TEST(Breakpoints, AreNotSeenInAnExactStraightLine) {
  EXPECT_TRUE(find_breakpoints(timed(straight(), 1, 0.0), 3).empty());
}

TEST(Breakpoints, OneIsFoundWhereItIs) {
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    const auto breakpoints = find_breakpoints(timed(bent(), seed, 0.03), 3);
    ASSERT_FALSE(breakpoints.empty()) << "seed " << seed;
    bool near = false;
    for (const double at : breakpoints)
      near = near || within_factor(at, 65536, 2);
    EXPECT_TRUE(near) << "seed " << seed;
  }
}

TEST(Breakpoints, TwoAreFoundWhereTheyAre) {
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    const auto breakpoints = find_breakpoints(timed(twice_bent(), seed, 0.02), 4);
    for (const double truth : {8192.0, 524288.0}) {
      bool near = false;
      for (const double at : breakpoints)
        near = near || within_factor(at, truth, 2);
      EXPECT_TRUE(near) << "seed " << seed << ", " << truth;
    }
    EXPECT_LE(breakpoints.size(), 3U) << "seed " << seed;
  }
}

TEST(Breakpoints, OfExactTimesAreExact) {
  EXPECT_EQ(find_breakpoints(timed(bent(), 1, 0.0), 3), std::vector<double>{65536});
  EXPECT_EQ(find_breakpoints(timed(twice_bent(), 1, 0.0), 4), (std::vector<double>{8192, 524288}));
}

TEST(Breakpoints, GiveForecastsBetweenSizesWithinTheNoise) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const Observations observations = timed(twice_bent(), seed, 0.02);
    model::TransferCurves curves;
    curves[static_cast<std::size_t>(h2d)] = model::TransferCurve{find_breakpoints(observations, 4)};
    const model::StepModel model(std::nullopt, {}, 1, curves);
    const Estimate fit = estimate(model, observations, start_values(model, observations));
    const Eigen::VectorXd values = values_from_log(model, fit.z);
    for (int power = 6; power < 26; ++power) {
      const double bytes = 1.4 * std::ldexp(1.0, power);
      EXPECT_NEAR(model.transfer_seconds(values.data(), h2d, bytes) / twice_bent()(bytes), 1.0,
                  0.06)
          << "seed " << seed << ", bytes " << bytes;
    }
  }
}

TEST(Breakpoints, KeepToTheirNumberAndApart) {
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    const Observations observations = timed(twice_bent(), seed, 0.005);
    EXPECT_TRUE(find_breakpoints(observations, 0).empty());
    EXPECT_LE(find_breakpoints(observations, 1).size(), 1U);
    const auto breakpoints = find_breakpoints(observations, 4);
    for (std::size_t i = 0; i < breakpoints.size(); ++i) {
      EXPECT_GT(breakpoints[i], 64);  // a piece holds at least two sizes
      EXPECT_LT(breakpoints[i], 0x1p25);
      if (i > 0) {
        EXPECT_GE(breakpoints[i], 4 * breakpoints[i - 1]);
      }
    }
  }
}

// A driver's command queue up to 16 KiB, a copy engine beyond: slower per byte, then suddenly less.
double two_protocols(double bytes) {
  return bytes <= 16384 ? 7e-6 + bytes / 5e9 : 7.2e-6 + bytes / 5.4e10;
}

TEST(Breakpoints, AJumpIsFoundWhereTheTimeFalls) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    synthetic::Noisy noisy(seed, 0.01, 0);
    synthetic::Samples samples;
    for (int power = 6; power <= 29; ++power) {
      for (int repetition = 0; repetition < 5; ++repetition) {
        const double bytes = std::ldexp(1.0, power);
        samples.add(synthetic::transfer(h2d, bytes), noisy(two_protocols(bytes)));
      }
    }
    const Observations observations = samples.observations();
    const auto breakpoints = find_breakpoints(observations, 4);
    ASSERT_GE(breakpoints.size(), 2U) << "seed " << seed;
    EXPECT_EQ(std::ranges::count(breakpoints, 16384), 2) << "seed " << seed;
    model::TransferCurves curves;
    curves[static_cast<std::size_t>(h2d)] = model::TransferCurve{breakpoints};
    const model::StepModel model(std::nullopt, {}, 1, curves);
    const Estimate fit = estimate(model, observations, start_values(model, observations));
    const Eigen::VectorXd values = values_from_log(model, fit.z);
    for (int power = 6; power < 29; ++power) {
      if (power != 14) {  // between the two protocols' sizes no measurement shows where one ends
        const double bytes = 1.4 * std::ldexp(1.0, power);
        EXPECT_NEAR(model.transfer_seconds(values.data(), h2d, bytes) / two_protocols(bytes), 1.0,
                    0.05)
            << "seed " << seed << ", bytes " << bytes;
      }
    }
  }
}

TEST(Breakpoints, AKinkIsNoJump) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const auto breakpoints = find_breakpoints(timed(bent(), seed, 0.02), 3);
    EXPECT_EQ(std::ranges::adjacent_find(breakpoints), breakpoints.end()) << "seed " << seed;
  }
}

TEST(Breakpoints, NeedSixSizes) {
  synthetic::Samples samples;
  for (const double bytes : {1e2, 1e3, 1e4, 1e5, 1e6})
    samples.add(synthetic::transfer(h2d, bytes), bent()(bytes));
  EXPECT_TRUE(find_breakpoints(samples.observations(), 3).empty());
}

}  // namespace
}  // namespace gpucast::fit
