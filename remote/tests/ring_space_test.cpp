// Where pieces lie in a ring: beside one another, within it, for as long as they are taken.
#include "server/ring_space.h"

#include <gtest/gtest.h>

#include <deque>
#include <random>
#include <utility>

namespace gpucast::remote::server {
namespace {

TEST(RingSpace, PiecesFollowOneAnotherAndBeginAnewWhereTheOldestHaveGone) {
  RingSpace ring(100);
  EXPECT_EQ(ring.take(60), 0U);
  EXPECT_EQ(ring.take(30), 60U);
  EXPECT_EQ(ring.take(20), std::nullopt);
  ring.give_back_oldest();
  EXPECT_EQ(ring.take(60), 0U);
  EXPECT_EQ(ring.take(1), std::nullopt);
  ring.give_back_oldest();
  EXPECT_EQ(ring.take(41), std::nullopt);
  EXPECT_EQ(ring.take(40), 60U);
}

TEST(RingSpace, AnEmptyOneTakesAllOfIt) {
  RingSpace ring(100);
  EXPECT_EQ(ring.take(70), 0U);
  ring.give_back_oldest();
  EXPECT_EQ(ring.take(100), 0U);
  EXPECT_EQ(ring.take(1), std::nullopt);
  ring.give_back_newest();
  EXPECT_EQ(ring.take(101), std::nullopt);
  EXPECT_EQ(ring.take(100), 0U);
}

TEST(RingSpace, PiecesNeverOverlap) {
  constexpr std::size_t bytes = 1000;
  std::mt19937 random(20250102);
  RingSpace ring(bytes);
  std::deque<std::pair<std::size_t, std::size_t>> taken;
  for (int k = 0; k < 100'000; ++k) {
    const std::size_t wanted = 1 + random() % 300;
    if (random() % 3 == 0 && !taken.empty()) {
      ring.give_back_oldest();
      taken.pop_front();
    } else if (const auto begin = ring.take(wanted)) {
      const std::size_t end = *begin + wanted;
      ASSERT_LE(end, bytes);
      for (const auto& [other, others_end] : taken)
        ASSERT_TRUE(end <= other || others_end <= *begin);
      taken.emplace_back(*begin, end);
    } else {
      ASSERT_FALSE(taken.empty());
    }
    ASSERT_EQ(ring.size(), taken.size());
  }
}

}  // namespace
}  // namespace gpucast::remote::server
