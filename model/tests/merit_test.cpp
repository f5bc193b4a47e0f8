#include "gpucast/model/workload.h"

#include <gtest/gtest.h>

namespace gpucast::model {
namespace {

TEST(Gflops, CountsSeventyEightOperationsForEachOrderedPair) {
  // 78 * 1000^2 operations in 78 ms: 1 Gflops.
  EXPECT_DOUBLE_EQ(all_pairs.gflops(1000, 78e-3), 1.0);
}

TEST(Gflops, TakesAnotherCountOfOperations) {
  Workload other = all_pairs;
  other.operations = 20;
  EXPECT_DOUBLE_EQ(other.gflops(1000, 1e-3), 20.0);
}

TEST(Gflops, CountsTheWorkOfNeighbourLists) {
  // A million particles, 40 neighbours each, 25 operations a pair, in 0.1 s: 10 Gflops.
  const Workload neighbours{.visits = {40, 0, 0}, .operations = 25};
  EXPECT_DOUBLE_EQ(neighbours.gflops(1e6, 0.1), 10.0);
}

TEST(Efficiency, IsOneForPerfectScalingAndFallsWithTimeLost) {
  EXPECT_DOUBLE_EQ(efficiency(8.0, 2.0, 4), 1.0);
  EXPECT_DOUBLE_EQ(efficiency(8.0, 4.0, 4), 0.5);
}

}  // namespace
}  // namespace gpucast::model
