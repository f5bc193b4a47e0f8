#include "engine/host/worker.h"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <new>
#include <stdexcept>
#include <vector>

#include "contains.h"
#include "engine/engine.h"

namespace gpucast::mdapp::host {
namespace {

TEST(Worker, DoesThingsInTheOrderInWhichTheyAreQueued) {
  Worker worker("worker");
  std::vector<int> done;
  std::vector<int> expected;
  for (int k = 0; k < 1000; ++k) {
    worker.queue([&done, k] { done.push_back(k); });
    expected.push_back(k);
  }
  worker.wait();
  EXPECT_EQ(done, expected);
}

TEST(Worker, QueuesWithoutWaiting) {
  Worker worker("worker");
  std::atomic<bool> go = false;
  std::atomic<bool> done = false;
  worker.queue([&] {
    while (!go)
      std::this_thread::yield();
  });
  worker.queue([&] { done = true; });
  EXPECT_FALSE(done);
  go = true;
  worker.wait();
  EXPECT_TRUE(done);
}

TEST(Worker, WakesUpAfterALongSleep) {
  Worker worker("worker");
  worker.wait();
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  int done = 0;
  worker.queue([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    ++done;
  });
  worker.wait();
  EXPECT_EQ(done, 1);
}

TEST(Worker, ThrowsWhatFailedAtEveryWaitAndLeavesOutWhatStandsBehind) {
  Worker worker("host device 3");
  bool left_out = true;
  bool always = false;
  worker.queue([] { throw std::runtime_error("the reason"); });
  worker.queue([&] { left_out = false; });
  worker.queue([&] { always = true; }, Worker::When::always);
  worker.queue([] { throw std::runtime_error("another reason"); }, Worker::When::always);
  for (int twice = 0; twice < 2; ++twice) {
    try {
      worker.wait();
      ADD_FAILURE() << "no error";
    } catch (const DeviceError& error) {
      EXPECT_STREQ(error.what(), "host device 3: the reason");
    }
  }
  EXPECT_TRUE(left_out);
  EXPECT_TRUE(always);
}

TEST(Worker, SaysThatMemoryHasRunOut) {
  Worker worker("worker");
  worker.queue([] { throw std::bad_alloc(); });
  try {
    worker.wait();
    ADD_FAILURE() << "no error";
  } catch (const DeviceError& error) {
    EXPECT_TRUE(test::contains(error.what(), "out of memory"));
  }
}

TEST(Worker, DoesTheRestBeforeItGoes) {
  int done = 0;
  {
    Worker worker("worker");
    for (int k = 0; k < 100; ++k)
      worker.queue([&done] { ++done; });
  }
  EXPECT_EQ(done, 100);
}

}  // namespace
}  // namespace gpucast::mdapp::host
