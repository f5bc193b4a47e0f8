// Ends of intervals beyond the data, compared with quantiles of the sums that they come from.
#include "gpucast/fit/beyond.h"

#include <gtest/gtest.h>

#include <vector>

#include "gpucast/fit/student_mixture.h"

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

}  // namespace
}  // namespace gpucast::fit
