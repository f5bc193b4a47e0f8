// A ring between two ends that need not trust one another.
#include "transport/ring.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <limits>
#include <random>
#include <thread>
#include <vector>

#include "transport/connection.h"

namespace gpucast::remote {
namespace {

constexpr std::size_t ring_bytes = 64;

struct Ring {
  RingCursors cursors{};
  std::array<std::byte, ring_bytes> data{};
  RingWriter writer{cursors, data};
  RingReader reader{cursors, data};

  std::size_t write(std::span<const std::byte> bytes) { return writer.write(bytes, {}); }
  std::vector<std::byte> read(std::size_t most) {
    std::vector<std::byte> result(most);
    result.resize(reader.read(result));
    return result;
  }
};

std::vector<std::byte> bytes_of(std::size_t count, unsigned first = 0) {
  std::vector<std::byte> result(count);
  for (std::size_t k = 0; k < count; ++k)
    result[k] = static_cast<std::byte>(first + k);
  return result;
}

TEST(ARing, BringsWhatWasWrittenInOrder) {
  Ring ring;
  EXPECT_FALSE(ring.reader.has_data());
  const auto first = bytes_of(3);
  const auto second = bytes_of(4, 3);
  EXPECT_EQ(ring.writer.write(first, second), 7U);
  EXPECT_TRUE(ring.reader.has_data());
  EXPECT_EQ(ring.read(5), bytes_of(5));
  EXPECT_EQ(ring.read(5), bytes_of(2, 5));
  EXPECT_EQ(ring.read(5), bytes_of(0));
}

TEST(ARing, TakesAsMuchAsFitsAndGoesOnAtItsBeginning) {
  Ring ring;
  EXPECT_EQ(ring.write(bytes_of(40)), 40U);
  EXPECT_EQ(ring.read(40), bytes_of(40));
  EXPECT_EQ(ring.write(bytes_of(100)), ring_bytes);
  EXPECT_FALSE(ring.writer.has_room());
  EXPECT_EQ(ring.write(bytes_of(1)), 0U);
  EXPECT_EQ(ring.read(100), bytes_of(ring_bytes));
  EXPECT_TRUE(ring.writer.has_room());
}

TEST(ARing, AgreesWithAQueueOfBytesWhateverIsWrittenAndRead) {
  Ring ring;
  std::vector<std::byte> model;
  std::mt19937 random(1);
  unsigned next = 0;
  for (int step = 0; step < 100'000; ++step) {
    const auto first = bytes_of(random() % 40, next);
    const auto second = bytes_of(random() % 40, next + static_cast<unsigned>(first.size()));
    const std::size_t sent = ring.writer.write(first, second);
    ASSERT_EQ(sent, std::min(first.size() + second.size(), ring_bytes - model.size()));
    const auto taken = bytes_of(sent, next);
    model.insert(model.end(), taken.begin(), taken.end());
    next += static_cast<unsigned>(sent);
    const auto got = ring.read(random() % 80);
    ASSERT_TRUE(std::equal(got.begin(), got.end(), model.begin()));
    model.erase(model.begin(), model.begin() + static_cast<std::ptrdiff_t>(got.size()));
  }
}

TEST(ARing, WakesASleeperOnce) {
  Ring ring;
  ring.write(bytes_of(1));
  EXPECT_FALSE(ring.writer.takes_sleeper());
  ring.reader.sleeps(true);
  EXPECT_TRUE(ring.writer.takes_sleeper());
  EXPECT_FALSE(ring.writer.takes_sleeper());
  ring.reader.sleeps(true);
  ring.reader.sleeps(false);
  EXPECT_FALSE(ring.writer.takes_sleeper());
}

TEST(ARing, RefusesPositionsThatCannotBe) {
  constexpr std::uint64_t largest = std::numeric_limits<std::uint64_t>::max();
  for (const std::uint64_t written : {std::uint64_t{ring_bytes + 1}, largest, largest / 2}) {
    Ring ring;
    ring.cursors.written = written;
    EXPECT_THROW(ring.reader.has_data(), ConnectionLost);
    EXPECT_THROW(ring.read(10), ConnectionLost);
  }
  for (const std::uint64_t read : {std::uint64_t{9}, largest, largest / 2}) {
    Ring ring;
    ring.write(bytes_of(8));
    ring.cursors.read = read;
    EXPECT_THROW(ring.write(bytes_of(ring_bytes)), ConnectionLost);
  }
  Ring back;  // positions never go back
  back.write(bytes_of(8));
  back.read(8);
  back.cursors.written = 7;
  EXPECT_THROW(back.reader.has_data(), ConnectionLost);
}

// What an end itself counts is never read from the memory.
TEST(ARing, GoesOnWhateverIsWrittenOverAnEndsOwnPosition) {
  Ring ring;
  ring.write(bytes_of(8));
  ring.cursors.read = 0;
  EXPECT_EQ(ring.read(4), bytes_of(4));
  ring.cursors.read = 77;
  EXPECT_EQ(ring.read(4), bytes_of(4, 4));
  EXPECT_EQ(ring.cursors.read, 8U);
}

TEST(ARing, NeverTouchesAnythingBesideItsDataWhateverTheOtherEndWrites) {
  struct {
    std::array<std::byte, 64> before{};
    std::array<std::byte, ring_bytes> data{};
    std::array<std::byte, 64> behind{};
  } memory;
  std::mt19937_64 random(2);
  for (int round = 0; round < 20'000; ++round) {
    RingCursors cursors{};
    RingWriter writer(cursors, memory.data);
    RingReader reader(cursors, memory.data);
    try {
      for (int step = 0; step < 20; ++step) {
        const std::uint64_t near = random() % (3 * ring_bytes);
        const std::uint64_t value = random() % 2 == 0 ? near : random();
        (random() % 2 == 0 ? cursors.written : cursors.read) = value;
        cursors.reader_sleeps = static_cast<std::uint32_t>(random());
        std::vector<std::byte> room(random() % 200);
        ASSERT_LE(reader.read(room), std::min(room.size(), ring_bytes));
        ASSERT_LE(writer.write(std::vector<std::byte>(random() % 200, std::byte{1}), {}),
                  ring_bytes);
        writer.takes_sleeper();
      }
    } catch (const ConnectionLost&) {
      continue;
    }
  }
  const auto zero = [](std::byte each) { return each == std::byte{0}; };
  EXPECT_TRUE(std::ranges::all_of(memory.before, zero));
  EXPECT_TRUE(std::ranges::all_of(memory.behind, zero));
}

}  // namespace
}  // namespace gpucast::remote
