// Ends of intervals beyond the data, compared with quantiles of the sums that they come from.
#include "gpucast/fit/beyond.h"

#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <cstddef>

namespace gpucast::fit {
namespace {

struct Member {
  double weight, mean, scale;
};

double probability_below(double x, const std::vector<Member>& members,
                         const std::vector<Beyond::Outcome>& outcomes) {
  double sum = 0;
  for (const auto& outcome : outcomes) {
    for (const auto& member : members) {
      const double t = (x - outcome.added - member.mean) / member.scale;
      sum += outcome.weight * member.weight * student::distribution(t, student::root(t));
    }
  }
  return sum;
}

void expect_ends_where_probabilities_are(const std::vector<Member>& members) {
  StudentMixture mixture;
  for (const auto& member : members)
    mixture.add(member.weight, member.mean, member.scale);
  for (const double slope : {-1.0, 0.0, 1.0}) {
    for (const double distance : {.1, .7, 2.0, 6.0}) {
      const auto outcomes = Beyond(1, 8).outcomes(distance, slope);
      const Ends interval = ends(mixture, outcomes);
      EXPECT_NEAR(probability_below(interval.low, members, outcomes), .05, 2e-4);
      EXPECT_NEAR(probability_below(interval.high, members, outcomes), .95, 2e-4);
    }
  }
}

TEST(Ends, HoldNinetyPercentOfOneMember) {
  expect_ends_where_probabilities_are({{1, -3, .02}});
  expect_ends_where_probabilities_are({{1, 5, 2}});
}

TEST(Ends, HoldNinetyPercentOfMembersNarrowAndWide) {
  expect_ends_where_probabilities_are({{.9, 0, .003}, {.1, .1, .5}});
  expect_ends_where_probabilities_are({{.5, 0, .01}, {.3, .02, .04}, {.2, -.4, .3}});
}

TEST(Ends, HoldNinetyPercentOfMembersFarApart) {
  expect_ends_where_probabilities_are({{.5, -9, .01}, {.5, 9, .01}});
  expect_ends_where_probabilities_are({{.93, 0, .01}, {.07, 2, .01}});
}

TEST(Ends, AreQuantilesWhereNothingBreaks) {
  StudentMixture mixture;
  mixture.add(1, 2, .1);
  const Ends interval = ends(mixture, Beyond(1, 8).outcomes(0, -1));
  EXPECT_EQ(interval.low, mixture.quantile(.05));
  EXPECT_EQ(interval.high, mixture.quantile(.95));
}

// ---- mixtures of Student's t, compared with scipy's t and numerical roots ----

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

// scipy 1's stats.t(8).ppf(p)
TEST(StudentMixture, OneMembersQuantilesAreStudents) {
  StudentMixture one;
  one.add(1, 3, .01);
  EXPECT_NEAR(one.quantile(.95), 3 + .01 * 1.8595480375308973, 1e-8);
  EXPECT_NEAR(one.quantile(.05), 3 - .01 * 1.8595480375308973, 1e-8);
  EXPECT_NEAR(one.quantile(.5), 3, 1e-8);
  EXPECT_NEAR(one.quantile(.001), 3 - .01 * 4.500790933723724, 1e-8);
}

// Roots x of .6 F(x / .1) + .3 F((x - 1) / .5) + .1 F((x + 2) / 2) = p, with F scipy's
// stats.t(8).cdf, by optimize.brentq to 1e-13.
TEST(StudentMixture, QuantilesOfSeveralMembersAreTheRootsOfTheirDistribution) {
  StudentMixture several;
  several.add(.6, 0, .1);
  several.add(.3, 1, .5);
  several.add(.1, -2, 2);
  EXPECT_NEAR(several.quantile(.01), -4.793688574312546, 1e-7);
  EXPECT_NEAR(several.quantile(.05), -2.002495589968649, 1e-7);
  EXPECT_NEAR(several.quantile(.5), 0.04610284878381693, 1e-7);
  EXPECT_NEAR(several.quantile(.95), 1.5594309898756304, 1e-7);
  EXPECT_NEAR(several.quantile(.99), 2.196669765203528, 1e-7);
}

TEST(StudentMixture, FindsQuantilesBetweenMembersThatAreFarApart) {
  StudentMixture apart;
  apart.add(.5, -100, 1e-5);
  apart.add(.5, 100, 1e-5);
  EXPECT_NEAR(apart.quantile(.25), -100, 1e-6);
  EXPECT_NEAR(apart.quantile(.75), 100, 1e-6);
}

// Variances of t with 8 degrees are 8 / 6 of its normal distribution's. Tolerances: five standard
// errors, of a covariance with t's kurtosis of 4.5.
TEST(Draws, HaveTheMixturesMeanAndCovariance) {
  const VectorXd first{{1, 2, 3}};
  const VectorXd second{{-1, 2, 0}};
  MatrixXd covariance{{.04, .02, 0}, {.02, .09, -.03}, {0, -.03, .0225}};
  const Index count = 40000;
  const MatrixXd drawn = draws(
      {.7, .3},
      [&](std::size_t i) {
        return i == 0 ? Joint{first, covariance} : Joint{second, MatrixXd(4 * covariance)};
      },
      count, 7);
  const VectorXd mean = .7 * first + .3 * second;
  const MatrixXd within = 8.0 / 6 * (.7 + .3 * 4) * covariance;
  const VectorXd apart = first - second;
  const MatrixXd expected = within + .7 * .3 * apart * apart.transpose();
  const MatrixXd off = drawn.rowwise() - mean.transpose();
  const MatrixXd seen = off.transpose() * off / static_cast<double>(count);
  for (Index i = 0; i < 3; ++i) {
    EXPECT_NEAR(off.col(i).mean(), 0, 5 * std::sqrt(expected(i, i) / count));
    for (Index j = 0; j < 3; ++j) {
      EXPECT_NEAR(seen(i, j), expected(i, j),
                  5 * std::sqrt(8 * expected(i, i) * expected(j, j) / count));
    }
  }
}

TEST(Draws, OfTheSameSeedAreTheSame) {
  const auto member = [](std::size_t) { return Joint{VectorXd{{0, 0}}, MatrixXd::Identity(2, 2)}; };
  EXPECT_EQ(draws({1}, member, 10, 3), draws({1}, member, 10, 3));
  EXPECT_NE(draws({1}, member, 10, 3), draws({1}, member, 10, 4));
}

// Two cells are the same cell, so that their covariance has no inverse.
TEST(Draws, OfTheSameQuantityTwiceAgree) {
  const auto member = [](std::size_t) {
    return Joint{VectorXd{{1, 1}}, MatrixXd::Constant(2, 2, .04)};
  };
  const MatrixXd drawn = draws({1}, member, 100, 1);
  ASSERT_TRUE(drawn.allFinite());
  EXPECT_LT((drawn.col(0) - drawn.col(1)).cwiseAbs().maxCoeff(), 1e-3);
}

// Rows still go to a member when rounding makes the weights sum to a little below 1.
TEST(Draws, ComeOfMembersInProportionToTheirWeights) {
  const auto member = [](std::size_t i) {
    return Joint{VectorXd::Constant(1, 100.0 * static_cast<double>(i)), MatrixXd::Identity(1, 1)};
  };
  const MatrixXd drawn = draws({.25, .5, .25 - 1e-12}, member, 400, 5);
  EXPECT_NEAR(static_cast<double>((drawn.array() < 50).count()), 100, 1);
  EXPECT_NEAR(static_cast<double>((drawn.array() > 150).count()), 100, 1);
}

}  // namespace
}  // namespace gpucast::fit
