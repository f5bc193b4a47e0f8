// What a client's copies may use of its server's pinned memory.
#include "server/staging.h"

#include <cuda.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <random>
#include <set>

#include "server/streams.h"

namespace gpucast::remote::server {
namespace {

constexpr std::size_t small = std::size_t{64} << 10;

// Takes all slots for copies of that size.
std::vector<Staging::Slot> take_all(Staging& staging, std::size_t bytes) {
  constexpr std::size_t most = 1000;
  std::vector<Staging::Slot> slots;
  while (slots.size() < most) {
    const Staging::Slot slot = staging.take(bytes);
    if (slot.data == nullptr) break;
    slots.push_back(slot);
  }
  return slots;
}

bool lie_apart(const std::vector<Staging::Slot>& slots, std::size_t bytes) {
  std::set<const std::byte*> begins;
  for (const Staging::Slot& slot : slots)
    begins.insert(slot.data);
  const auto close = [bytes](const std::byte* a, const std::byte* b) {
    return b - a < static_cast<std::ptrdiff_t>(bytes);
  };
  return begins.size() == slots.size() && std::ranges::adjacent_find(begins, close) == begins.end();
}

// Called at the end of a test, so that leak checkers find everything that was allocated.
void give_back_all(const std::vector<Staging::Slot>& slots) {
  for (const Staging::Slot& slot : slots)
    Staging::give_back(slot);
}

// Its memory exists until the process ends, and so does this.
Staging& begin_staging() {
  static const Driver* const driver = std::make_unique<Driver>(GPUCAST_TEST_LIBCUDA).release();
  static Staging* const staging = std::make_unique<Staging>(*driver).release();
  driver->cuInit(0);
  return *staging;
}

TEST(ServedStaging, IsBoundedForSmallCopiesAndForLargerOnes) {
  Staging& staging = begin_staging();
  const auto of_small = take_all(staging, small);
  EXPECT_EQ(of_small.size(), 512U);
  EXPECT_TRUE(lie_apart(of_small, small));
  EXPECT_EQ(staging.take(1).data, nullptr);
  // Large copies have slots of their own.
  const auto of_large = take_all(staging, small + 1);
  EXPECT_EQ(of_large.size(), 64U);
  EXPECT_TRUE(lie_apart(of_large, most_inline));
  EXPECT_EQ(staging.take(most_inline).data, nullptr);
  give_back_all(of_small);
  give_back_all(of_large);
}

TEST(ServedStaging, WhatIsGivenBackIsTakenAgainForItsSize) {
  Staging& staging = begin_staging();
  const auto of_small = take_all(staging, small);
  const auto of_large = take_all(staging, most_inline);
  Staging::give_back(of_large.front());
  Staging::give_back({});  // empty
  EXPECT_EQ(staging.take(small).data, nullptr);
  EXPECT_EQ(staging.take(most_inline).data, of_large.front().data);
  Staging::give_back(of_small.back());
  EXPECT_EQ(staging.take(most_inline).data, nullptr);
  EXPECT_EQ(staging.take(0).data, of_small.back().data);
  give_back_all(of_small);
  give_back_all(of_large);
}

TEST(ServedStaging, IsMadeWhenItIsFirstNeeded) {
  ::setenv("GPUCAST_FAKE_FAIL", "cuMemHostAlloc:2:2", 1);
  Staging& staging = begin_staging();
  EXPECT_NE(staging.take(small).data, nullptr);  // the driver allocates this one first
  EXPECT_THROW(staging.take(most_inline), DriverError);
  EXPECT_NE(staging.take(most_inline).data, nullptr);
}

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

// ---- streams and events ----

class ServedStreams : public testing::Test {
 protected:
  ServedStreams() : driver_(GPUCAST_TEST_LIBCUDA) { driver_.cuInit(0); }

  // Counts calls until one fails, which happens before `most`.
  template <class Message>
  std::uint64_t count(Message message, Id Message::* id, std::uint64_t most) {
    for (std::uint64_t k = 0; k < most; ++k) {
      message.*id = first_id + k;
      const CUresult status = status_of([&] { streams_.run(message); });
      if (status != CUDA_SUCCESS) {
        EXPECT_EQ(status, CUDA_ERROR_OUT_OF_MEMORY);
        return k;
      }
    }
    return most;
  }

  const Driver driver_;
  Streams streams_{driver_};
};

TEST_F(ServedStreams, AreBounded) {
  constexpr std::uint64_t most = 20'000;
  const std::uint64_t streams = count(StreamCreate{}, &StreamCreate::stream, most);
  EXPECT_GT(streams, 10'000U);
  EXPECT_LT(streams, most);
  EXPECT_NO_THROW(streams_.run(StreamDestroy{.stream = first_id}));
  driver_.cuCtxSynchronize();
  EXPECT_NO_THROW(streams_.run(StreamCreate{.stream = first_id}));
}

TEST_F(ServedStreams, SoAreEvents) {
  constexpr std::uint64_t most = 300'000;
  const std::uint64_t events = count(EventCreate{}, &EventCreate::event, most);
  EXPECT_GT(events, 200'000U);
  EXPECT_LT(events, most);
}

TEST_F(ServedStreams, ThatAreGoneLeaveNothing) {
  for (int k = 0; k < 1000; ++k) {
    ASSERT_NO_THROW(streams_.run(StreamCreate{.stream = first_id}));
    ASSERT_NO_THROW(streams_.run(StreamDestroy{.stream = first_id}));
  }
  driver_.cuCtxSynchronize();
  EXPECT_EQ(streams_.record_all()->size(), 1U);
}

TEST_F(ServedStreams, AreWaitedForByOneListUntilThereIsNewWork) {
  for (std::uint64_t k = 0; k < 10; ++k)
    streams_.run(StreamCreate{.stream = first_id + k});
  const auto first = streams_.record_all();
  EXPECT_EQ(first->size(), 11U);
  EXPECT_EQ(streams_.record_all(), first);
  streams_.new_work();
  EXPECT_NE(streams_.record_all(), first);
}

TEST_F(ServedStreams, LeaveNoListBehindThatNobodyWaitsFor) {
  std::weak_ptr<Events> first = streams_.record_all();
  EXPECT_TRUE(first.expired());
}

TEST_F(ServedStreams, AreWaitedForByABoundedNumberOfEvents) {
  constexpr std::uint64_t streams = 10'000;
  for (std::uint64_t k = 0; k < streams; ++k)
    streams_.run(StreamCreate{.stream = first_id + k});
  std::vector<std::shared_ptr<Events>> waits;
  while (streams_.has_room_for_waits() && waits.size() < 100) {
    waits.push_back(streams_.record_all());
    streams_.new_work();
  }
  EXPECT_GE(waits.size(), 5U);
  EXPECT_LE(waits.size(), 7U);
  waits.clear();
  EXPECT_TRUE(streams_.has_room_for_waits());
}

}  // namespace
}  // namespace gpucast::remote::server
