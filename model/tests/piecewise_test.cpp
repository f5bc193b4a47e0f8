#include "gpucast/model/piecewise.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace gpucast::model {
namespace {

// Slope 2 up to 10, 0 up to 30, 5 beyond.
const std::vector<double>& bends() {
  static const std::vector<double> at{10, 30};
  return at;
}

constexpr double slope[] = {2, 0, 5};

double chain(double x) { return piecewise(bends(), slope, x); }

TEST(Piecewise, BeginsAtTheOrigin) { EXPECT_EQ(chain(0), 0.0); }

TEST(Piecewise, AddsThePiecesThatItSpans) {
  EXPECT_DOUBLE_EQ(chain(4), 8);
  EXPECT_DOUBLE_EQ(chain(10), 20);
  EXPECT_DOUBLE_EQ(chain(25), 20);
  EXPECT_DOUBLE_EQ(chain(30), 20);
  EXPECT_DOUBLE_EQ(chain(34), 40);
}

TEST(Piecewise, NeverFallsAndHasNoJump) {
  double before = chain(0);
  for (int i = 1; i < 6000; ++i) {
    const double x = 0.01 * i;
    ASSERT_GE(chain(x), before);
    ASSERT_LE(chain(x), before + 5 * 0.01 + 1e-12);
    before = chain(x);
  }
}

TEST(Piecewise, WithoutBreakpointsIsAStraightLine) {
  EXPECT_DOUBLE_EQ(piecewise({}, slope, 7.5), 15.0);
  EXPECT_EQ(piecewise({}, slope, 0), 0.0);
}

TEST(Piecewise, OfEqualSlopesIsTheStraightLine) {
  const double equal[] = {3, 3, 3};
  for (const double x : {0.0, 5.0, 10.0, 17.0, 30.0, 1e6}) {
    EXPECT_DOUBLE_EQ(piecewise(bends(), equal, x), 3 * x);
  }
}

TEST(Piecewise, NumbersItsPiecesAndNamesTheLastPlainly) {
  const Parameter t_0{"t_0", "s", "start-up"};
  const Parameter t_pair{"t_pair", "s", "time"};
  std::vector<std::string> names;
  for (const Parameter& each : slope_parameters(t_pair, bends(), {t_0})) {
    names.push_back(each.name);
    EXPECT_EQ(each.unit, "s");
    EXPECT_FALSE(each.reciprocal);
  }
  EXPECT_EQ(names, (std::vector<std::string>{"t_0", "t_pair_1", "t_pair_2", "t_pair"}));
  EXPECT_EQ(slope_parameters(t_pair, {}), std::vector<Parameter>{t_pair});
}

}  // namespace
}  // namespace gpucast::model
