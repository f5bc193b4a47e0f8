// What a client's streams and events may use of its server process.
#include "server/streams.h"

#include <cuda.h>
#include <gtest/gtest.h>

namespace gpucast::remote::server {
namespace {

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
