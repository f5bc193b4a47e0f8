// Several instances on one GPU: bounds for every schedule, and values computed by hand.
#include "gpucast/model/sharing.h"

#include <gtest/gtest.h>

namespace gpucast::model {
namespace {

TEST(Sharing, LeavesOneInstanceAsItIs) {
  for (const double waiting : {0.0, 0.3, 1.0})
    for (const double busy : {0.0, 0.2, 1.0})
      EXPECT_NEAR((Sharing{busy, 0.5, waiting}.slowdown(1)), 1, 1e-12) << busy << " " << waiting;
}

TEST(Sharing, TakesOneAfterAnotherWhereTheGpuIsNeverIdle) {
  EXPECT_NEAR((Sharing{1, 0, 0.4}.slowdown(4)), 4, 1e-12);
  EXPECT_NEAR((Sharing{1, 0, 0.4}.speedup(4)), 1, 1e-12);
}

TEST(Sharing, HasItsBoundsAsLimits) {
  // A quarter of a step is the GPU's: four instances fill it, at worst each waits for three others.
  EXPECT_NEAR((Sharing{0.25, 0, 1}.slowdown(4)), 1.75, 1e-12);
  EXPECT_NEAR((Sharing{0.25, 0, 0}.slowdown(2)), 1, 1e-9);
  EXPECT_NEAR((Sharing{0.25, 0, 0}.slowdown(8)), 2, 1e-9);
}

TEST(Sharing, HasValuesBetweenThem) {
  // q = 2, b = 1/2: sqrt(1 + 1 - 1/4) and sqrt(1 + 4 - 1/4).
  EXPECT_NEAR((Sharing{0.5, 0, 0.5}.slowdown(2)), std::sqrt(1.75), 1e-12);
  EXPECT_NEAR((Sharing{0.5, 0, 0.5}.slowdown(4)), std::sqrt(4.75), 1e-12);
  for (const double waiting : {0.0, 0.1, 0.25, 0.5, 0.9, 1.0}) {
    for (const double busy : {0.1, 0.3, 0.7, 0.99}) {
      for (const double instances : {2.0, 3.0, 7.0, 1000.0}) {
        const double factor = Sharing{busy, 0, waiting}.slowdown(instances);
        EXPECT_GE(factor, std::max(1.0, instances * busy) * (1 - 1e-12));
        EXPECT_LE(factor, (1 - busy + instances * busy) * (1 + 1e-12));
      }
    }
  }
}

TEST(Sharing, PaysForTurns) {
  // Half of the slices of two instances follow the other's: 2 (1 + 0.2/2).
  EXPECT_NEAR((Sharing{1, 0.2, 1}.slowdown(2)), 2.2, 1e-12);
  EXPECT_NEAR((Sharing{1, 0.2, 1}.slowdown(4)), 4.6, 1e-12);
}

TEST(Sharing, PaysForTurnsHoweverShortTheWork) {
  // A tenth of T = 1 is the GPU's, and a turn takes 2: the GPU is never idle, and works 2.1 each.
  EXPECT_NEAR((Sharing{0.1, 0, 0, 2}.slowdown(2)), 4.2, 1e-12);
  EXPECT_NEAR((Sharing{0.1, 0, 0, 2}.slowdown(4)), 8.4, 1e-12);
  EXPECT_NEAR((Sharing{0.1, 0, 0, 2}.slowdown(1)), 1, 1e-12);
  // Half of the time two were there: 1.5 (0.1 + 2 / 2).
  EXPECT_NEAR((Sharing{0.1, 0, 0, 2}.slowdown(1.5)), 1.65, 1e-12);
}

TEST(Sharing, TakesLongerBesideOthersWhateverTheyDo) {
  EXPECT_NEAR((Sharing{0.01, 0, 0, 0, 0.2}.slowdown(2)), 1.2, 1e-9);
  EXPECT_NEAR((Sharing{0.01, 0, 0, 0, 0.2}.slowdown(8)), 1.2, 1e-9);
  EXPECT_NEAR((Sharing{0.5, 0, 0, 0, 0.2}.slowdown(8)), 4, 1e-9);
  EXPECT_NEAR((Sharing{0.5, 0, 0, 0, 0.2}.slowdown(1)), 1, 1e-12);
}

}  // namespace
}  // namespace gpucast::model
