#include "phases.h"

#include <gtest/gtest.h>

#include <vector>

namespace gpucast::trace {
namespace {

using std::chrono::milliseconds;

TEST(Phases, BeginWithAFullOneThatLastsUntilTheGpuWasAskedForSomething) {
  const Phases phases(milliseconds(50), milliseconds(1000));
  EXPECT_TRUE(phases.full());
  EXPECT_EQ(phases.left(milliseconds(1010)), milliseconds(40));
  EXPECT_FALSE(phases.over(milliseconds(1049), 9));
  EXPECT_FALSE(phases.over(milliseconds(5000), 0));
  EXPECT_TRUE(phases.over(milliseconds(1050), 1));
}

TEST(Phases, AreThreeTimesAsLongWhenLightAndDoubleFromPairToPair) {
  Phases phases(milliseconds(50), milliseconds(0));
  std::vector<long> lengths;
  std::vector<bool> full;
  for (int phase = 0; phase < 6; ++phase) {
    lengths.push_back(phases.length() / milliseconds(1));
    full.push_back(phases.full());
    phases.next(milliseconds(0), 0);
  }
  EXPECT_EQ(lengths, (std::vector<long>{50, 150, 100, 300, 200, 600}));
  EXPECT_EQ(full, (std::vector<bool>{true, false, true, false, true, false}));
}

TEST(Phases, CountFromTheirOwnBegin) {
  Phases phases(milliseconds(50), milliseconds(0));
  phases.next(milliseconds(70), 100);
  EXPECT_FALSE(phases.over(milliseconds(219), 100));
  EXPECT_TRUE(phases.over(milliseconds(220), 100));
  phases.next(milliseconds(230), 100);
  EXPECT_FALSE(phases.over(milliseconds(400), 100));  // no new work: the program is idle
  EXPECT_TRUE(phases.over(milliseconds(400), 101));
}

TEST(Phases, MayBeginAgain) {
  Phases phases(milliseconds(50), milliseconds(0));
  phases.again(milliseconds(40), 7);
  EXPECT_TRUE(phases.full());
  EXPECT_EQ(phases.left(milliseconds(40)), milliseconds(50));
  EXPECT_FALSE(phases.over(milliseconds(90), 7));
  EXPECT_TRUE(phases.over(milliseconds(90), 8));
}

TEST(Phases, MayBeginWithALightOne) {
  Phases phases(milliseconds(1), milliseconds(0), 1000, false);
  EXPECT_FALSE(phases.full());
  EXPECT_EQ(phases.length(), milliseconds(1000));
}

TEST(Phases, NeverEndWithoutALength) {
  const Phases phases(milliseconds(0), milliseconds(0));
  EXPECT_FALSE(phases.over(std::chrono::hours(24), 1'000'000));
  EXPECT_GT(phases.left(std::chrono::hours(24)), std::chrono::hours(24));
}

}  // namespace
}  // namespace gpucast::trace
