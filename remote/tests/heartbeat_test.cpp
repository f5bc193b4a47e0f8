// When a client considers its server, or a connection to it, lost.
#include "protocol/heartbeat.h"

#include <gtest/gtest.h>

namespace gpucast::remote {
namespace {

TEST(Heartbeat, GoesOnAsLongAsWhatWasSaidIsAnswered) {
  Heartbeat heartbeat;
  std::byte heard{0};
  for (int beat = 0; beat < 1000; ++beat) {
    heartbeat.heard(heard);  // the number of the previous beat
    heard = heartbeat.next();
    EXPECT_NE(heard, std::byte{0});
    ASSERT_FALSE(heartbeat.stopped());
  }
}

// What the client sends is lost: the server never answers, or repeats its first answer.
TEST(Heartbeat, StopsWhereNothingNewIsAnswered) {
  for (const bool repeats : {false, true}) {
    Heartbeat heartbeat;
    const std::byte answer = repeats ? heartbeat.next() : std::byte{0};
    int beats = 0;
    for (; !heartbeat.stopped(); ++beats) {
      heartbeat.heard(answer);
      heartbeat.next();
    }
    EXPECT_EQ(beats, 7);
  }
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

TEST(Beat, ComesBackFromAnyPieces) {
  const Beat first{.heard = std::byte{7},
                   .flows = {{.connection = 0, .awaits = 1, .received = 5, .offered = 6},
                             {.connection = 3, .awaits = 0, .received = 1, .offered = 1U << 31}}};
  std::vector<std::byte> bytes = packed(first);
  const std::vector<std::byte> second = packed(Beat{.heard = std::byte{8}});
  EXPECT_EQ(second.size(), 2U);
  bytes.insert(bytes.end(), second.begin(), second.end());
  BeatReader reader;
  std::vector<Beat> heard;
  for (const std::byte byte : bytes) {
    reader.add({&byte, 1});
    while (auto beat = reader.next())
      heard.push_back(*std::move(beat));
  }
  ASSERT_EQ(heard.size(), 2U);
  EXPECT_EQ(heard[0].heard, std::byte{7});
  ASSERT_EQ(heard[0].flows.size(), 2U);
  EXPECT_EQ(heard[0].flows[1].connection, 3);
  EXPECT_EQ(heard[0].flows[1].offered, 1U << 31);
  EXPECT_EQ(heard[0].flows[0].awaits, 1);
  EXPECT_EQ(heard[1].heard, std::byte{8});
}

TEST(Beat, OfMoreConnectionsThanThereAreIsRefused) {
  BeatReader reader;
  const std::array bytes = {std::byte{1}, std::byte{18}};
  reader.add(bytes);
  EXPECT_THROW(reader.next(), ProtocolError);
}

TEST(Progress, StopsWhereWhatWasSentIsAwaitedAndDoesNotCome) {
  Progress progress;
  int beats = 0;
  for (; !progress.stopped(); ++beats)
    progress.note(10, 7, true);
  EXPECT_EQ(beats, 6);
}

TEST(Progress, DoesNotStopForABusyReaderNorWhereDataComesAtAll) {
  Progress busy_reader;
  Progress all_has_come;
  Progress little_comes;
  for (std::uint64_t beat = 0; beat < 100; ++beat) {
    busy_reader.note(10, 7, false);
    all_has_come.note(10, 10, true);
    little_comes.note(1000, beat / 4, true);
    ASSERT_FALSE(busy_reader.stopped());
    ASSERT_FALSE(all_has_come.stopped());
    ASSERT_FALSE(little_comes.stopped());
  }
}

TEST(Stalls, NameTheConnectionWhateverItsDirection) {
  const std::map<std::uint8_t, FlowState> here = {
      {0, {.received = 4, .offered = 9, .awaits = true}},
      {2, {.received = 4, .offered = 9, .awaits = true}}};
  for (const bool up : {true, false}) {
    Stalls stalls;
    const FlowReport well{.connection = 0, .awaits = 1, .received = 9, .offered = 4};
    FlowReport stuck{.connection = 2, .awaits = 1, .received = 9, .offered = 4};
    (up ? stuck.received : stuck.offered) = up ? 8 : 5;
    const FlowReport unknown{.connection = 9, .awaits = 1, .received = 0, .offered = 99};
    for (int beat = 0; beat < 6; ++beat) {
      EXPECT_FALSE(stalls.stuck()) << beat;
      stalls.note(here, {well, stuck, unknown});
    }
    EXPECT_EQ(stalls.stuck(), 2);
  }
}

TEST(Stalls, CountOnlyBeatsInWhichTheServerSaidSomething) {
  const std::map<std::uint8_t, FlowState> here = {{0, {.received = 0, .offered = 9}}};
  Stalls stalls;
  for (int beat = 0; beat < 100; ++beat) {
    stalls.note(here, {});
    ASSERT_FALSE(stalls.stuck());
  }
}

}  // namespace
}  // namespace gpucast::remote
