
#include <gtest/gtest.h>

#include <array>
#include <iterator>
#include <limits>
#include <set>
#include <stdexcept>

#include "synthetic.h"

namespace gpucast::fit {
namespace {

using synthetic::launch;
using synthetic::step;
using synthetic::transfer;

const Cell mixed[] = {launch(1),     step(2000, 1),
                      step(1000, 2), step(1000, 1),
                      step(2000, 1), transfer(model::Route::d2h, 64),
                      step(2000, 1), transfer(model::Route::h2d, 4096)};
constexpr double mixed_seconds[] = {1, 2, 3, 4, 5, 6, 7, 8};
constexpr double mixed_variance[] = {.1, .2, .3, .4, .5, .6, .7, .8};

Observations mixed_observations() { return {mixed, mixed_seconds, mixed_variance}; }

TEST(Observations, ComeOutSortedByCell) {
  const std::vector<Cell> sorted{step(1000, 1),
                                 step(1000, 2),
                                 step(2000, 1),
                                 transfer(model::Route::h2d, 4096),
                                 transfer(model::Route::d2h, 64),
                                 launch(1)};
  EXPECT_EQ(mixed_observations().cells(), sorted);
}

TEST(Observations, KeepTheSamplesOfACellTogetherAndInTheirOrder) {
  const Observations all = mixed_observations();
  EXPECT_EQ(all.cell_count(), 6U);
  EXPECT_EQ(all.sample_count(), 8U);
  ASSERT_EQ(all.size(2), 3U);
  const std::array<double, 3> seconds{2, 5, 7};
  const std::array<double, 3> variance{.2, .5, .7};
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_DOUBLE_EQ(all.log_seconds()[all.first(2) + i], std::log(seconds[i]));
    EXPECT_EQ(all.rounding_variance()[all.first(2) + i], variance[i]);
  }
  EXPECT_EQ(all.first(6), 8U);
  EXPECT_DOUBLE_EQ(all.median_log(2), std::log(5));
}

TEST(Observations, SubsetKeepsTheChosenCellsWhole) {
  const Observations some = mixed_observations().subset({false, true, true, false, true, false});
  EXPECT_EQ(some.cells(),
            (std::vector<Cell>{step(1000, 2), step(2000, 1), transfer(model::Route::d2h, 64)}));
  EXPECT_EQ(some.sample_count(), 5U);
  EXPECT_EQ(some.size(1), 3U);
  EXPECT_DOUBLE_EQ(some.log_seconds()[some.first(2)], std::log(6));
  EXPECT_EQ(some.rounding_variance()[some.first(1) + 2], .7);
}

TEST(Observations, SubsetOfNothingIsEmpty) {
  const Observations none = mixed_observations().subset(std::vector<bool>(6, false));
  EXPECT_EQ(none.cell_count(), 0U);
  EXPECT_EQ(none.sample_count(), 0U);
}

TEST(Observations, WithOtherTimesKeepTheirCells) {
  const Observations all = mixed_observations();
  const Observations other = all.with_log_seconds(std::vector<double>(8, 0.25));
  EXPECT_EQ(other.cells(), all.cells());
  EXPECT_EQ(other.median_log(0), 0.25);
  EXPECT_EQ(other.rounding_variance(), all.rounding_variance());
}

TEST(Observations, RefuseTimesThatAreNotPositiveAndFinite) {
  const double infinity = std::numeric_limits<double>::infinity();
  for (const double bad : {0.0, -1.0, -0.0, std::nan(""), infinity, -infinity}) {
    std::vector<double> seconds(std::begin(mixed_seconds), std::end(mixed_seconds));
    seconds[4] = bad;
    EXPECT_THROW(Observations(mixed, seconds, mixed_variance), std::invalid_argument) << bad;
  }
}

TEST(Observations, TakeTheSmallestAndLargestTimes) {
  const std::vector<Cell> cells{step(1, 1), step(2, 1)};
  const std::vector<double> seconds{std::numeric_limits<double>::denorm_min(),
                                    std::numeric_limits<double>::max()};
  const Observations extreme(cells, seconds, std::vector<double>{0, 0});
  EXPECT_TRUE(std::isfinite(extreme.log_seconds()[0]));
  EXPECT_TRUE(std::isfinite(extreme.log_seconds()[1]));
}

TEST(Observations, RefuseListsOfDifferentLength) {
  EXPECT_THROW(Observations(mixed, std::vector<double>(7, 1.0), mixed_variance),
               std::invalid_argument);
  EXPECT_THROW(Observations(mixed, mixed_seconds, std::vector<double>(9, 0.0)),
               std::invalid_argument);
}

TEST(Group, SeparatesKindsAndRoutesAndNothingElse) {
  std::set<std::size_t> groups{group(step(1, 1)), group({.kind = Kind::cpu, .n = 1}),
                               group({.kind = Kind::kernel, .n = 1, .gpus = 1}), group(launch(1)),
                               group({.kind = Kind::skeleton, .n = 1, .gpus = 1, .busy = 1})};
  for (const model::Route route : model::all_routes)
    groups.insert(group(transfer(route, 1)));
  EXPECT_EQ(groups.size(), group_count - 1);  // transfers as a kind are no group
  EXPECT_EQ(*groups.rbegin(), group_count - 1);
  EXPECT_EQ(group(step(1, 1)), group(step(64000, 4)));
  EXPECT_EQ(group(transfer(model::Route::d2h, 1)), group(transfer(model::Route::d2h, 1e8)));
}

}  // namespace
}  // namespace gpucast::fit
