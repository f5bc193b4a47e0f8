// When a client takes its server for gone.
#include "protocol/heartbeat.h"

#include <gtest/gtest.h>

namespace gpucast::remote {
namespace {

TEST(Heartbeat, GoesOnAsLongAsWhatWasSaidIsAnswered) {
  Heartbeat heartbeat;
  std::byte heard{0};
  for (int beat = 0; beat < 1000; ++beat) {
    heartbeat.heard(heard);  // of the beat before
    heard = heartbeat.next();
    EXPECT_NE(heard, std::byte{0});
    ASSERT_FALSE(heartbeat.stopped());
  }
}

TEST(Heartbeat, StopsWhereTheServerOnlySpeaks) {
  Heartbeat heartbeat;
  int beats = 0;
  for (; !heartbeat.stopped(); ++beats) {
    heartbeat.next();
    heartbeat.heard(std::byte{0});  // what goes up is lost
  }
  EXPECT_EQ(beats, 7);
}

TEST(Heartbeat, StopsWhereTheServerRepeatsItself) {
  Heartbeat heartbeat;
  const std::byte first = heartbeat.next();
  int beats = 0;
  for (; !heartbeat.stopped(); ++beats) {
    heartbeat.heard(first);
    heartbeat.next();
  }
  EXPECT_EQ(beats, 7);
}

TEST(Heartbeat, TakesALateAnswerForAllThatWasSaidBefore) {
  Heartbeat heartbeat;
  for (int beat = 0; beat < 5; ++beat)
    heartbeat.next();
  heartbeat.heard(heartbeat.next());
  for (int beat = 0; beat < 6; ++beat)
    heartbeat.next();
  EXPECT_FALSE(heartbeat.stopped());
  heartbeat.next();
  EXPECT_TRUE(heartbeat.stopped());
}

TEST(Heartbeat, KnowsTheNumbersOfEarlierBeats) {
  Heartbeat heartbeat;
  std::byte before = heartbeat.next();
  for (int beat = 0; beat < 600; ++beat) {
    const std::byte now = heartbeat.next();
    EXPECT_EQ(heartbeat.number(0), now);
    EXPECT_EQ(heartbeat.number(1), before);
    before = now;
  }
}

}  // namespace
}  // namespace gpucast::remote
