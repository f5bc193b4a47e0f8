// Properties of connections through shared memory beyond those of all connections
// (tls_connection_test.cpp).
#include "transport/carriers.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <atomic>
#include <csignal>
#include <limits>
#include <random>
#include <thread>

#include "tests/pairs.h"
#include "transport/line.h"
#include "transport/ring.h"
#include "transport/shared_memory.h"

namespace gpucast::remote {
namespace {

Deadline soon() { return Clock::now() + std::chrono::seconds(10); }

struct Rings {
  Rings() {
    Lines lines;
    here = offer_rings(std::move(lines.here), soon());
    there = accept_rings(std::move(lines.there), soon());
  }
  std::unique_ptr<Connection> here;
  std::unique_ptr<Connection> there;
};

// Each end sleeps while it waits for the other's answer.
TEST(RingConnection, LosesNoWakeUpInAPingPongOfSleepers) {
  const Rings rings;
  constexpr int trips = 20'000;
  std::thread other([&] {
    for (int k = 0; k < trips; ++k) {
      std::byte got{};
      read_all(*rings.there, {&got, 1}, soon());
      write_all(*rings.there, {&got, 1});
    }
  });
  for (int k = 0; k < trips; ++k) {
    const auto sent = static_cast<std::byte>(k);
    std::byte got{};
    write_all(*rings.here, {&sent, 1});
    read_all(*rings.here, {&got, 1}, soon());
    ASSERT_EQ(got, sent);
  }
  other.join();
}

TEST(RingConnection, EndsForTheOtherSideWithAllThatWasWritten) {
  Rings rings;
  const auto sent = bytes_of_pattern(10);
  write_all(*rings.here, sent);
  rings.here.reset();
  std::vector<std::byte> got(10);
  read_all(*rings.there, got, soon());
  EXPECT_EQ(got, sent);
  EXPECT_THROW(read_all(*rings.there, got, soon()), ConnectionLost);
  EXPECT_THROW(write_all(*rings.there, sent), ConnectionLost);
}

TEST(RingConnection, ThatIsShutDownWakesWhoeverWaits) {
  const Rings rings;
  std::byte one{};
  std::thread reader([&] { EXPECT_THROW(read_all(*rings.here, {&one, 1}), ConnectionLost); });
  const auto much = bytes_of_pattern(std::size_t{1} << 20);
  std::thread writer([&] { EXPECT_THROW(write_all(*rings.here, much), ConnectionLost); });
  rings.here->shut_down();
  reader.join();
  writer.join();
  std::vector<std::byte> all(much.size());  // more than arrived before the end
  EXPECT_THROW(read_all(*rings.there, all, soon()), ConnectionLost);
}

TEST(RingConnection, EndsWhenTheOtherProcessIsKilled) {
  Lines lines;
  const pid_t process = ::fork();
  if (process == 0) {
    lines.there.reset();
    const auto here = offer_rings(std::move(lines.here), soon());
    ::pause();
    ::_exit(1);
  }
  lines.here.reset();
  const auto there = accept_rings(std::move(lines.there), soon());
  ASSERT_NE(there, nullptr);
  ::kill(process, SIGKILL);
  ::waitpid(process, nullptr, 0);
  std::byte one{};
  EXPECT_THROW(read_all(*there, {&one, 1}, soon()), ConnectionLost);
}

TEST(RingConnection, GivesMemoryToTheOtherEnd) {
  const Rings rings;
  EXPECT_TRUE(rings.here->shares_memory());
  std::vector<SharedMemory> given;
  for (int k = 0; k < 3; ++k) {
    given.push_back(SharedMemory::make(HalfMemory::page));
    given.back().bytes()[0] = static_cast<std::byte>(k);
    rings.there->give(given.back());
  }
  for (int k = 0; k < 3; ++k)
    EXPECT_EQ(rings.here->take(HalfMemory::page).bytes()[0], static_cast<std::byte>(k));
  EXPECT_THROW(rings.here->take(HalfMemory::page), ConnectionLost);
}

TEST(RingConnection, KeepsMemoryThatComesWhileItSleeps) {
  const Rings rings;
  const SharedMemory memory = SharedMemory::make(HalfMemory::page);
  rings.there->give(memory);
  rings.here->wait({.read = true}, Clock::now());  // wakes without data to read
  EXPECT_NO_THROW(rings.here->take(HalfMemory::page));
}

TEST(RingConnection, EndsWhereMoreMemoryIsGivenThanIsAskedFor) {
  const Rings rings;
  const SharedMemory memory = SharedMemory::make(HalfMemory::page);
  for (int k = 0; k < 20; ++k)
    rings.there->give(memory);
  const auto listen = [&] {
    for (int k = 0; k < 20; ++k)
      rings.here->wait({.read = true}, Clock::now());
  };
  EXPECT_THROW(listen(), ConnectionLost);
}

TEST(RingConnection, IsRefusedWhereTheMemoryIsNotSealedOrTooShort) {
  const auto accept = [](const support::Descriptor& file) {
    std::byte byte{};
    DescriptorMessage message({&byte, 1}, file.get());
    Lines lines;
    ::sendmsg(lines.here.get(), message.head(), 0);
    return accept_rings(std::move(lines.there), soon());
  };
  const support::Descriptor unsealed(::memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  ASSERT_EQ(::ftruncate(unsealed.get(), 1 << 24), 0);
  EXPECT_THROW(accept(unsealed), std::runtime_error);
  const SharedMemory little = SharedMemory::make(HalfMemory::page);
  EXPECT_THROW(accept(little.file()), std::runtime_error);
}

TEST(RingConnection, IsNoneWhereTheOtherSideHasNoMemoryForIt) {
  Lines lines;
  Line(std::move(lines.here)).ring();
  EXPECT_EQ(accept_rings(std::move(lines.there), soon()), nullptr);
}

TEST(RingConnection, IsWaitedForNoLongerThanTheDeadline) {
  Lines lines;
  EXPECT_THROW(accept_rings(std::move(lines.there), Clock::now()), ConnectionLost);
}

// The other end has all of the memory, and writes into it while this one reads.
TEST(RingConnection, OnlyEndsWhateverIsWrittenIntoTheMemoryMeanwhile) {
  constexpr std::size_t all = 4096 + 2 * (std::size_t{256} << 10);
  std::mt19937_64 random(3);
  for (int round = 0; round < 300; ++round) {
    Lines lines;
    const auto here = offer_rings(std::move(lines.here), soon());
    Line hostile(std::move(lines.there));
    ASSERT_TRUE(hostile.wait(soon()));
    const auto memory = hostile.take(all);
    ASSERT_TRUE(memory.has_value());
    std::atomic<bool> stop{false};
    std::thread writer([&, seed = random()] {
      std::mt19937_64 values(seed);
      while (!stop) {
        const std::size_t at = values() % 512 / 8 * 8;
        const std::uint64_t value =
            values() % 2 == 0 ? values() : values() % (std::size_t{1} << 19);
        std::atomic_ref(*reinterpret_cast<std::uint64_t*>(memory->bytes().data() + at)) = value;
        if (values() % 8 == 0) hostile.ring();
      }
    });
    try {
      std::vector<std::byte> room(100'000);
      for (int step = 0; step < 300; ++step) {
        here->try_write(room, std::span(room).first(random() % room.size()), MemoryOf::library);
        here->try_read(std::span(room).first(random() % room.size()), MemoryOf::library);
        here->wait({.read = true, .write = random() % 2 == 0}, Clock::now());
      }
    } catch (const ConnectionLost& lost) {
      EXPECT_STRNE(lost.what(), "");
    }
    stop = true;
    writer.join();
  }
}

// ---- a ring between two ends that do not trust one another ----

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
    ASSERT_EQ(ring.writer.has_room(), model.size() < ring_bytes);
    ASSERT_EQ(ring.reader.has_data(), !model.empty());
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
  Ring back;  // positions never decrease
  back.write(bytes_of(8));
  back.read(8);
  back.cursors.written = 7;
  EXPECT_THROW(back.reader.has_data(), ConnectionLost);
}

// An end's own position is never read from the memory.
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
  const auto zero = [](std::byte byte) { return byte == std::byte{0}; };
  EXPECT_TRUE(std::ranges::all_of(memory.before, zero));
  EXPECT_TRUE(std::ranges::all_of(memory.behind, zero));
}

}  // namespace
}  // namespace gpucast::remote
