// When a program may use a copy's memory again.
#include "client/pending_receives.h"

#include <gtest/gtest.h>

#include <future>

namespace gpucast::remote::client {
namespace {

using Landing = PendingReceives::Landing;

constexpr Id copy = 20;
bool any(const PendingReceive& /*arrival*/) { return true; }

class ArrivalsOfACopy : public testing::Test {
 protected:
  ArrivalsOfACopy() {
    receives_.expect({.transfer = copy, .to = memory_.data(), .bytes = memory_.size()}, false);
  }
  std::future<bool> waiting() {
    return std::async(std::launch::async,
                      [this] { return receives_.wait_for_bulk(any, [this] { ++looks_; }); });
  }
  // Whether the waiting thread checks twice more before the wait is over.
  bool goes_on(const std::future<bool>& wait) const {
    const int before = looks_;
    while (looks_ < before + 2) {
      if (wait.wait_for(std::chrono::seconds(0)) == std::future_status::ready) return false;
      std::this_thread::yield();
    }
    return true;
  }

  PendingReceives receives_;
  std::atomic<int> looks_ = 0;
  std::array<std::byte, 100> memory_{};
};

TEST_F(ArrivalsOfACopy, AreThereWithTheLastByte) {
  {
    Landing half(receives_, copy, 50, 50);
    EXPECT_EQ(half.to(), memory_.data() + 50);
    half.done();
  }
  EXPECT_FALSE(receives_.none(any));
  Landing rest(receives_, copy, 0, 50);
  rest.done();
  EXPECT_FALSE(receives_.none(any));
}

TEST_F(ArrivalsOfACopy, HaveAPlaceWithinItsMemoryOnly) {
  EXPECT_EQ(Landing(receives_, copy, 60, 50).to(), nullptr);
  EXPECT_EQ(Landing(receives_, copy, ~std::uint64_t{0}, 50).to(), nullptr);
  EXPECT_EQ(Landing(receives_, copy + 1, 0, 50).to(), nullptr);
  const Landing whole(receives_, copy, 0, 100);
  EXPECT_EQ(Landing(receives_, copy, 0, 1).to(), nullptr);
}

TEST_F(ArrivalsOfACopy, MayBeWrittenUntilNobodyDoesAfterAFailure) {
  std::optional<Landing> landing(std::in_place, receives_, copy, 0, 50);
  const auto wait = waiting();
  receives_.failed(copy, 7);
  EXPECT_TRUE(goes_on(wait));
  EXPECT_EQ(Landing(receives_, copy, 50, 50).to(), nullptr);
  landing.reset();
  wait.wait();
  EXPECT_EQ(receives_.take_failure(), 7U);
}

TEST_F(ArrivalsOfACopy, MayBeWrittenUntilNobodyDoesAfterTheServerIsLost) {
  std::optional<Landing> landing(std::in_place, receives_, copy, 0, 50);
  auto wait = waiting();
  receives_.give_up();
  EXPECT_TRUE(goes_on(wait));
  EXPECT_EQ(Landing(receives_, copy, 50, 50).to(), nullptr);
  landing.reset();
  wait.wait();
  receives_.wait_for_landings();
}

}  // namespace
}  // namespace gpucast::remote::client
