#include "gpucast/support/interrupt.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <thread>

namespace gpucast::support {
namespace {

// The waiting thread takes a signal soon, not at once.
bool soon_requested(const Interrupt& interrupt) {
  for (int tries = 0; tries < 2000 && !interrupt.requested(); ++tries) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return interrupt.requested();
}

bool blocked(int signal) {
  sigset_t mask{};
  pthread_sigmask(SIG_SETMASK, nullptr, &mask);
  return sigismember(&mask, signal) == 1;
}

TEST(Interrupt, IsNotRequestedByItself) {
  const Interrupt interrupt;
  EXPECT_FALSE(interrupt.requested());
}

TEST(Interrupt, IsRequestedByCtrlCOrTermination) {
  for (const int signal : {SIGINT, SIGTERM}) {
    const Interrupt interrupt;
    const auto token = interrupt.token();
    kill(getpid(), signal);
    EXPECT_TRUE(soon_requested(interrupt));
    EXPECT_TRUE(token.stop_requested());
  }
}

TEST(Interrupt, IsSeenByThreadsStartedLater) {
  const Interrupt interrupt;
  bool seen = false;
  std::jthread worker([&] { seen = blocked(SIGINT) && soon_requested(interrupt); });
  kill(getpid(), SIGINT);
  worker.join();
  EXPECT_TRUE(seen);
}

TEST(Interrupt, LeavesSignalsAsTheyWere) {
  ASSERT_FALSE(blocked(SIGINT));
  {
    const Interrupt interrupt;
    EXPECT_TRUE(blocked(SIGINT));
    EXPECT_TRUE(blocked(SIGTERM));
  }
  EXPECT_FALSE(blocked(SIGINT));
  EXPECT_FALSE(blocked(SIGTERM));
}

TEST(Interrupt, EndsCleanlyHoweverOftenItIsMade) {
  for (int round = 0; round < 500; ++round) {
    const Interrupt interrupt;
    EXPECT_FALSE(interrupt.requested());
  }
}

[[noreturn]] void interrupted_twice(int first, int second) {
  const Interrupt interrupt;
  kill(getpid(), first);
  if (soon_requested(interrupt)) {
    kill(getpid(), second);
    std::this_thread::sleep_for(std::chrono::seconds(10));
  }
  _exit(0);
}

TEST(InterruptDeathTest, TheSecondSignalEndsTheProcessAsItDoesByDefault) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(interrupted_twice(SIGINT, SIGINT), testing::KilledBySignal(SIGINT), "");
  EXPECT_EXIT(interrupted_twice(SIGINT, SIGTERM), testing::KilledBySignal(SIGTERM), "");
}

}  // namespace
}  // namespace gpucast::support
