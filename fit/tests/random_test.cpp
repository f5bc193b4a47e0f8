#include "gpucast/fit/random.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>

namespace gpucast::fit {
namespace {

TEST(Random, IsUniformInZeroToOne) {
  Random random(7);
  constexpr int draws = 100000;
  std::array<int, 10> bins{};
  for (int i = 0; i < draws; ++i) {
    const double u = random.uniform();
    ASSERT_GE(u, 0.0);
    ASSERT_LT(u, 1.0);
    ++bins.at(static_cast<std::size_t>(u * 10));
  }
  double chi_square = 0;
  for (const int count : bins) {
    chi_square += std::pow(count - draws / 10.0, 2) / (draws / 10.0);
  }
  EXPECT_LT(chi_square, 27.9);  // 0.999 quantile of chi-square with 9 degrees of freedom
}

TEST(Random, BelowReachesEveryNumberBelowAndNoOther) {
  Random random(8);
  std::array<int, 7> seen{};
  for (int i = 0; i < 1000; ++i) {
    ++seen.at(random.below(7));
  }
  for (const int count : seen) {
    EXPECT_GT(count, 80);
  }
}

TEST(Random, NormalHasMeanZeroAndVarianceOne) {
  Random random(9);
  constexpr int draws = 100000;
  double sum = 0;
  double squares = 0;
  for (int i = 0; i < draws; ++i) {
    const double x = random.normal();
    sum += x;
    squares += x * x;
  }
  EXPECT_NEAR(sum / draws, 0, 4 / std::sqrt(draws));
  EXPECT_NEAR(squares / draws, 1, 4 * std::sqrt(2.0 / draws));
}

TEST(Random, RepeatsASeedAndKeepsStreamsApart) {
  Random one(1, 5);
  Random same(1, 5);
  Random stream(1, 6);
  Random seed(2, 5);
  Random far(1, 5 + (std::uint64_t{1} << 32U));
  const double first = one.uniform();
  EXPECT_EQ(first, same.uniform());
  EXPECT_NE(first, stream.uniform());
  EXPECT_NE(first, seed.uniform());
  EXPECT_NE(first, far.uniform());
}

}  // namespace
}  // namespace gpucast::fit
