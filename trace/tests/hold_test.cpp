#include "hold.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace gpucast::trace {
namespace {

using namespace std::chrono_literals;

// Far longer than anything here takes.
constexpr std::chrono::nanoseconds ever = 60s;

TEST(Hold, KeepsTheThreadThatComesWhileSomethingIsChanged) {
  Hold hold(ever);
  std::atomic<bool> listens = false;
  std::atomic<bool> done = false;
  std::atomic<int> calls = 0;
  std::atomic<int> listened = 0;
  std::thread program([&] {
    while (!done) {
      if (listens) hold.arrive();
      ++calls;
    }
  });
  int before = 0;
  int after = 0;
  const bool held = hold.during(
      [&](bool on) {
        listens = on;
        ++listened;
      },
      [&] {
        before = calls;
        std::this_thread::sleep_for(5ms);
        after = calls;
      },
      ever);
  done = true;
  program.join();
  EXPECT_TRUE(held);
  EXPECT_EQ(before, after);
  EXPECT_EQ(listened, 2);
  EXPECT_FALSE(listens);
}

TEST(Hold, ChangesNothingWhereNoThreadComes) {
  Hold hold(ever);
  bool changed = false;
  EXPECT_FALSE(hold.during([](bool) {}, [&] { changed = true; }, 1ms));
  EXPECT_FALSE(changed);
}

TEST(Hold, LetsThreadsPassThatNobodyWaitsFor) {
  Hold hold(ever);
  hold.arrive();
  EXPECT_FALSE(hold.during([](bool) {}, [] {}, 1ms));
  hold.arrive();
}

TEST(Hold, LetsAThreadGoOnThatWasKeptForTooLongAndKeepsNoOther) {
  Hold hold(1ms);
  std::atomic<bool> done = false;
  std::atomic<int> calls = 0;
  std::thread program([&] {
    while (!done) {
      hold.arrive();
      ++calls;
    }
  });
  const bool held = hold.during([](bool) {},
                                [&] {
                                  // As if the thread had what this needs.
                                  for (const int before = calls; calls == before;)
                                    std::this_thread::yield();
                                },
                                ever);
  EXPECT_TRUE(held);
  EXPECT_FALSE(hold.during([](bool) {}, [] {}, ever));
  done = true;
  program.join();
}

}  // namespace
}  // namespace gpucast::trace
