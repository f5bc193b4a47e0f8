#include "gpucast/model/merit.h"

#include <gtest/gtest.h>

namespace gpucast::model {
namespace {

TEST(Gflops, CountsSeventyEightOperationsForEachOrderedPair) {
  // 78 * 1000^2 operations in 78 ms: 1 Gflops.
  EXPECT_DOUBLE_EQ(gflops(1000, 78e-3), 1.0);
}

TEST(Gflops, TakesAnotherCountOfOperations) { EXPECT_DOUBLE_EQ(gflops(1000, 1e-3, 20), 20.0); }

TEST(Efficiency, IsOneForPerfectScalingAndFallsWithTimeLost) {
  EXPECT_DOUBLE_EQ(efficiency(8.0, 2.0, 4), 1.0);
  EXPECT_DOUBLE_EQ(efficiency(8.0, 4.0, 4), 0.5);
}

}  // namespace
}  // namespace gpucast::model
