#include "gpucast/devices/host/worker.h"

#include <gtest/gtest.h>

#include "gpucast/support/errors.h"

namespace gpucast::devices::host {
namespace {

TEST(Worker, DoesWhatItIsGivenInOrder) {
  Worker worker("a device");
  std::vector<int> done;
  for (int k = 0; k < 1000; ++k)
    worker.queue([&done, k] { done.push_back(k); });
  worker.wait();
  ASSERT_EQ(done.size(), 1000U);
  for (int k = 0; k < 1000; ++k)
    EXPECT_EQ(done[static_cast<std::size_t>(k)], k);
}

TEST(Worker, WaitsForNothingWhereNothingIsQueued) {
  Worker worker("a device");
  worker.wait();
  worker.queue([] {});
  worker.wait();
  worker.wait();
}

TEST(Worker, DoesTheRestBeforeItEnds) {
  int done = 0;
  {
    Worker worker("a device");
    for (int k = 0; k < 100; ++k)
      worker.queue([&done] { ++done; });
  }
  EXPECT_EQ(done, 100);
}

TEST(Worker, ThrowsWhatTheFirstFailedOperationThrewAndKeepsThrowingIt) {
  Worker worker("a device");
  worker.queue([] { throw std::runtime_error("first"); });
  worker.queue([] { throw std::logic_error("second"); });
  EXPECT_THROW(worker.wait(), support::DeviceError);
  worker.queue([] {});
  EXPECT_THROW(worker.wait(), support::DeviceError);
}

TEST(Worker, AfterAFailureDoesOnlyWhatOthersWaitFor) {
  Worker worker("a device");
  int left_out = 0;
  int done_anyway = 0;
  worker.queue([] { throw std::runtime_error("failed"); });
  worker.queue([&] { ++left_out; });
  worker.queue([&] { ++done_anyway; }, Worker::When::always);
  EXPECT_THROW(worker.wait(), support::DeviceError);
  EXPECT_EQ(left_out, 0);
  EXPECT_EQ(done_anyway, 1);
}

// There are more threads than cores, so that polling sometimes ends in sleep: after a lost wake-up
// the test would not end.
TEST(Worker, EveryWaitEndsWhereManyWaitAtOnce) {
  constexpr int rounds = 3000;
  std::vector<int> done(8);
  std::vector<std::jthread> waiting;
  waiting.reserve(done.size());
  for (int& its : done) {
    waiting.emplace_back([&its] {
      Worker worker("a device");
      for (int k = 0; k < rounds; ++k) {
        worker.queue([&its] { ++its; });
        worker.wait();
      }
    });
  }
  waiting.clear();
  EXPECT_EQ(done, std::vector<int>(8, rounds));
}

TEST(Worker, ManyStartAndEnd) {
  for (int k = 0; k < 50; ++k) {
    Worker worker("a device");
    int done = 0;
    worker.queue([&done] { ++done; });
    if (k % 2 == 0) {
      worker.wait();
      EXPECT_EQ(done, 1);
    }
  }
}

}  // namespace
}  // namespace gpucast::devices::host
