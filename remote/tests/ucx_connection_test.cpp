// Connections over UCX: as sockets are. CTest runs them over UCX's TCP and its shared memory.
#include "transport/ucx_connection.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <thread>
#include <vector>

#include "tests/pairs.h"
#include "transport/ucx_arrivals.h"

namespace gpucast::remote {
namespace {

Deadline soon() { return Clock::now() + std::chrono::seconds(5); }

std::unique_ptr<Connection> meet(std::unique_ptr<Connection>& greeted, bool begins) {
  return meet_over_ucx(*greeted, socket_of(*greeted), begins, soon());
}

struct Met {
  Met() {
    Pair pair;
    std::thread other([&] { there = meet(pair.there, false); });
    here = meet(pair.here, true);
    other.join();
  }
  std::unique_ptr<Connection> here;
  std::unique_ptr<Connection> there;
};

TEST(UcxConnection, CarriesBothWays) {
  const Met met;
  const auto sent = pattern(1000);
  std::vector<std::byte> got(1000);
  write_all(*met.here, sent, {}, soon());
  read_all(*met.there, got, soon());
  EXPECT_EQ(got, sent);
  write_all(*met.there, got, {}, soon());
  read_all(*met.here, got, soon());
  EXPECT_EQ(got, sent);
}

TEST(UcxConnection, CarriesMuchBothWaysAtOnce) {
  const Met met;
  const auto sent = pattern(std::size_t{40} << 20);
  const auto write = [&](Connection& connection) {
    write_all(connection, std::span(sent).first(3), std::span(sent).subspan(3), soon());
  };
  const auto read = [&](Connection& connection) {
    std::vector<std::byte> got(sent.size());
    read_all(connection, got, soon());
    EXPECT_EQ(got, sent);
  };
  std::vector<std::thread> threads;
  threads.emplace_back([&] { write(*met.here); });
  threads.emplace_back([&] { write(*met.there); });
  threads.emplace_back([&] { read(*met.here); });
  read(*met.there);
  for (std::thread& each : threads)
    each.join();
}

// More messages than could be kept if only their bytes counted.
TEST(UcxConnection, CarriesManyShortMessagesThatNobodyReadsYet) {
  const Met met;
  constexpr int count = 50'000;
  std::thread writer([&] {
    for (int k = 0; k < count; ++k) {
      const auto sent = static_cast<std::byte>(k);
      write_all(*met.here, {&sent, 1}, {}, soon());
    }
  });
  std::vector<std::byte> got(count);
  read_all(*met.there, got, soon());
  writer.join();
  for (int k = 0; k < count; ++k)
    ASSERT_EQ(got[static_cast<std::size_t>(k)], static_cast<std::byte>(k));
}

TEST(UcxConnection, TakesNoMoreThanTheOtherEndHasRoomFor) {
  const Met met;
  const auto much = pattern(2 * ucx_window);
  EXPECT_THROW(write_all(*met.here, much, {}, Clock::now() + std::chrono::milliseconds(200)),
               ConnectionLost);
  std::vector<std::byte> got(ucx_window);
  for (const auto end = Clock::now() + std::chrono::seconds(5);
       !met.here->wait({.write = true}, Clock::now()).write;) {
    ASSERT_LT(Clock::now(), end);
    met.there->try_read(got, MemoryOf::library);
  }
}

// UCX moves nothing unless it is called: what was written may not need its writer once more.
TEST(UcxConnection, LeavesNothingBehindOfWhatWasTaken) {
  ::setenv("UCX_TCP_SNDBUF", "8k", 0);
  ::setenv("UCX_TCP_RCVBUF", "8k", 0);
  for (const std::size_t at_once : {200UL, 3000UL, 100'000UL}) {
    const Met met;
    const auto sent = pattern(at_once);
    std::size_t taken = 0;
    for (std::size_t now = 1; now > 0; taken += now)
      now = met.here->try_write(sent, {}, MemoryOf::library);
    std::vector<std::byte> got(taken);
    read_all(*met.there, got, soon());
  }
}

// Each of the two sleeps for the other's answer.
TEST(UcxConnection, LosesNoWakeUpInAPingPongOfSleepers) {
  const Met met;
  constexpr int trips = 10'000;
  std::thread other([&] {
    for (int k = 0; k < trips; ++k) {
      std::byte got{};
      read_all(*met.there, {&got, 1}, soon());
      write_all(*met.there, {&got, 1}, {}, soon());
    }
  });
  for (int k = 0; k < trips; ++k) {
    const auto sent = static_cast<std::byte>(k);
    std::byte got{};
    write_all(*met.here, {&sent, 1}, {}, soon());
    read_all(*met.here, {&got, 1}, soon());
    ASSERT_EQ(got, sent);
  }
  other.join();
}

// A reader sleeps all the time while the thread beside it writes, and so moves what comes, too.
TEST(UcxConnection, WakesAReaderWhoseDataAWriterBrought) {
  const Met met;
  constexpr std::size_t bytes = std::size_t{8} << 20;
  const auto sent = pattern(bytes);
  const auto read = [&](Connection& connection) {
    for (std::size_t k = 0; k < bytes; k += 1000) {
      std::array<std::byte, 1000> got{};
      read_all(connection, std::span(got).first(std::min(got.size(), bytes - k)), soon());
    }
  };
  const auto write = [&](Connection& connection) {
    for (std::size_t k = 0; k < bytes; k += 500)
      write_all(connection, std::span(sent).subspan(k, std::min<std::size_t>(500, bytes - k)), {},
                soon());
  };
  std::vector<std::thread> threads;
  threads.emplace_back([&] { write(*met.here); });
  threads.emplace_back([&] { write(*met.there); });
  threads.emplace_back([&] { read(*met.here); });
  read(*met.there);
  for (std::thread& each : threads)
    each.join();
}

TEST(UcxConnection, EndsForTheOtherSideWithAllThatWasWritten) {
  Met met;
  const auto sent = pattern(10);
  write_all(*met.here, sent, {}, soon());
  met.here.reset();
  std::vector<std::byte> got(10);
  read_all(*met.there, got, soon());
  EXPECT_EQ(got, sent);
  EXPECT_THROW(read_all(*met.there, got, soon()), ConnectionLost);
  EXPECT_THROW(write_all(*met.there, sent, {}, soon()), ConnectionLost);
}

TEST(UcxConnection, ThatIsShutDownWakesWhoeverWaits) {
  const Met met;
  std::byte one{};
  std::thread reader([&] { EXPECT_THROW(read_all(*met.here, {&one, 1}), ConnectionLost); });
  const auto much = pattern(2 * ucx_window);
  std::thread writer([&] { EXPECT_THROW(write_all(*met.here, much), ConnectionLost); });
  met.here->shut_down();
  reader.join();
  writer.join();
  std::vector<std::byte> all(much.size());  // more than came before the end
  EXPECT_THROW(read_all(*met.there, all, soon()), ConnectionLost);
}

TEST(UcxConnection, HasDeadlines) {
  const Met met;
  std::byte one{};
  EXPECT_THROW(read_all(*met.here, {&one, 1}, Clock::now()), ConnectionLost);
  EXPECT_FALSE(met.here->wait({.read = true}, Clock::now() + std::chrono::milliseconds(20)).read);
}

// The child uses UCX first: a process that has used it does not fork.
TEST(UcxConnection, EndsWhenTheOtherProcessIsKilled) {
  Pair pair;
  const pid_t process = ::fork();
  if (process == 0) {
    pair.here.reset();
    const auto there = meet(pair.there, false);
    ::pause();
    ::_exit(1);
  }
  pair.there.reset();
  const auto here = meet(pair.here, true);
  // Some of it is under way then.
  const auto much = pattern(std::size_t{1} << 20);
  while (here->try_write(much, {}, MemoryOf::library) > 0) {
  }
  ::kill(process, SIGKILL);
  ::waitpid(process, nullptr, 0);
  std::byte one{};
  EXPECT_THROW(read_all(*here, {&one, 1}), ConnectionLost);
}

TEST(UcxConnection, TellsOfMemoryThatIsNotThePrograms) {
  const Met met;
  const HalfMemory memory;
  EXPECT_TRUE(write_all_or_zeros(*met.here, {}, memory.good()));
  EXPECT_FALSE(write_all_or_zeros(*met.here, {}, memory.bytes()));
  std::vector<std::byte> got(3 * HalfMemory::page);
  read_all(*met.there, got, soon());
  write_all(*met.there, std::span(got).first(2 * HalfMemory::page), {}, soon());
  EXPECT_FALSE(read_all_or_drop(*met.here, memory.bytes()));
}

TEST(UcxConnection, IsNotMetWhereTheOtherEndSendsNoAddress) {
  for (const std::uint32_t bytes : {0U, 1U << 30}) {
    Pair pair;
    write_all(*pair.there, std::as_bytes(std::span(&bytes, 1)), {}, soon());
    EXPECT_THROW(meet(pair.here, true), ConnectionLost);
  }
  Pair pair;
  EXPECT_THROW(meet_over_ucx(*pair.here, socket_of(*pair.here), true, Clock::now()),
               ConnectionLost);
}

// As UCX brings them, whoever sent them.
TEST(UcxArrivals, AreReadInTheirOrder) {
  const UcxWorker worker = make_ucx_worker();
  UcxArrivals arrivals(worker.get());
  std::array<std::byte, 2> data{std::byte{1}, std::byte{2}};
  EXPECT_EQ(arrivals.add(ucx_cost(1), &data[1], 1, 0), UCS_OK);
  EXPECT_TRUE(arrivals.front().empty());
  EXPECT_EQ(arrivals.add(0, data.data(), 1, 0), UCS_OK);
  for (const std::byte expected : data) {
    ASSERT_EQ(arrivals.front().size(), 1U);
    EXPECT_EQ(arrivals.front()[0], expected);
    arrivals.pop(1);
  }
  EXPECT_EQ(arrivals.read(), 2 * ucx_cost(1));
}

TEST(UcxArrivals, AreRefusedBeyondTheWindowBehindItAndTwice) {
  const UcxWorker worker = make_ucx_worker();
  UcxArrivals arrivals(worker.get());
  std::byte one{};
  constexpr std::size_t all = ucx_window;
  EXPECT_THROW(arrivals.add(all, &one, 1, 0), ConnectionLost);
  EXPECT_THROW(arrivals.add(~std::uint64_t{0}, &one, 1, 0), ConnectionLost);
  EXPECT_THROW(arrivals.add(0, &one, ~std::size_t{0}, 0), ConnectionLost);
  EXPECT_THROW(arrivals.add(0, &one, all, 0), ConnectionLost);
  EXPECT_THROW(arrivals.add(0, &one, 0, 0), ConnectionLost);
  arrivals.add(0, &one, 1, 0);
  EXPECT_THROW(arrivals.add(0, &one, 1, 0), ConnectionLost);
  arrivals.pop(1);
  EXPECT_THROW(arrivals.add(0, &one, 1, 0), ConnectionLost);
}

}  // namespace
}  // namespace gpucast::remote
