#include "gpucast/support/interrupt.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace gpucast::support {
namespace {

// The waiting thread receives a signal soon, but not at once; CTest ends a test that hangs.
void wait_until_requested(const Interrupt& interrupt) {
  while (!interrupt.requested())
    std::this_thread::yield();
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
    wait_until_requested(interrupt);
    EXPECT_TRUE(token.stop_requested());
  }
}

TEST(Interrupt, IsSeenByThreadsStartedLater) {
  const Interrupt interrupt;
  bool seen = false;
  std::jthread worker([&] {
    wait_until_requested(interrupt);
    seen = blocked(SIGINT);
  });
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
  wait_until_requested(interrupt);
  kill(getpid(), second);
  while (true)
    pause();
}

TEST(InterruptDeathTest, TheSecondSignalEndsTheProcessAsItDoesByDefault) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(interrupted_twice(SIGINT, SIGINT), testing::KilledBySignal(SIGINT), "");
  EXPECT_EXIT(interrupted_twice(SIGINT, SIGTERM), testing::KilledBySignal(SIGTERM), "");
}

}  // namespace
}  // namespace gpucast::support
