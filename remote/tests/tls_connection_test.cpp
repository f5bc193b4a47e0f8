// Properties of every connection: plain, with TLS, and through shared memory.
#include "transport/tls_connection.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <thread>

#include "tests/pairs.h"
#include "transport/carriers.h"
#include "transport/flow.h"

namespace gpucast::remote {
namespace {

using namespace std::chrono_literals;

Deadline within(std::chrono::milliseconds time) { return Clock::now() + time; }

// The messages of both sides before the handshake.
constexpr std::array words = {std::byte{1}, std::byte{2}};

class AnyConnection : public testing::TestWithParam<std::string> {
 protected:
  // Returns a pair after the handshake.
  static Pair connected() {
    Pair pair;
    if (GetParam() == "plain") return pair;
    Key key;
    fill_random(key.bytes());
    const auto end = [&](std::unique_ptr<Connection>& connection, TlsSide side) {
      if (GetParam() == "TLS") {
        connection = secure(std::move(connection), side, key, words, within(60s));
      } else {
        const CarrierKind& kind = *std::ranges::find(carriers(), GetParam(), &CarrierKind::name);
        const auto take_over = side == TlsSide::server ? kind.offer : kind.accept;
        connection = take_over(socket_of(*connection), within(60s));
      }
    };
    std::thread server([&] { end(pair.there, TlsSide::server); });
    end(pair.here, TlsSide::client);
    server.join();
    return pair;
  }
};
std::vector<std::string> kinds() {
  std::vector<std::string> result = {"plain", "TLS"};
  for (const CarrierKind& kind : carriers())
    result.emplace_back(kind.name);
  return result;
}
INSTANTIATE_TEST_SUITE_P(Kinds, AnyConnection, testing::ValuesIn(kinds()), [](const auto& kind) {
  std::string name = kind.param;
  std::ranges::replace(name, '-', '_');
  return name;
});

std::vector<std::byte> noise(std::size_t bytes) {
  std::mt19937 random(7);
  std::vector<std::byte> result(bytes);
  for (std::byte& byte : result)
    byte = static_cast<std::byte>(random());
  return result;
}

TEST_P(AnyConnection, CarriesLargeDataBothWaysAtOnce) {
  const Pair pair = connected();
  const auto sent = noise((std::size_t{3} << 20) + 17);
  const auto carry = [&](Connection& from, Connection& to) {
    std::thread writer(
        [&] { write_all(from, std::span(sent).first(24), std::span(sent).subspan(24)); });
    std::vector<std::byte> got(sent.size());
    read_all(to, std::span(got).first(24), within(60s));
    read_all(to, std::span(got).subspan(24), within(60s));
    writer.join();
    EXPECT_EQ(got, sent);
  };
  std::thread down([&] { carry(*pair.there, *pair.here); });
  carry(*pair.here, *pair.there);
  down.join();
}

TEST_P(AnyConnection, BringsSmallMessagesOneByOne) {
  const Pair pair = connected();
  const auto sent = noise(1000);
  for (std::size_t k = 0; k < sent.size(); ++k) {
    write_all(*pair.here, std::span(sent).subspan(k, 1));
    std::byte got{};
    read_all(*pair.there, {&got, 1}, within(60s));
    ASSERT_EQ(got, sent[k]);
  }
}

TEST_P(AnyConnection, SaysWhenThereIsNothingToRead) {
  const Pair pair = connected();
  std::byte got{};
  EXPECT_EQ(pair.here->try_read({&got, 1}, MemoryOf::library), 0U);
  EXPECT_FALSE(pair.here->wait({.read = true}, within(0ms)).read);
  write_all(*pair.there, noise(2));
  EXPECT_TRUE(pair.here->wait({.read = true}, within(60s)).read);
  read_all(*pair.here, {&got, 1}, within(60s));
  // The other one has arrived with it.
  EXPECT_TRUE(pair.here->wait({.read = true}, within(0ms)).read);
}

TEST_P(AnyConnection, TakesNoMoreThanIsRead) {
  const Pair pair = connected();
  const auto data = noise(std::size_t{1} << 20);
  const auto write = [&] { return pair.here->try_write(data, {}, MemoryOf::library); };
  std::size_t taken = 0;
  for (std::size_t more = write(); more > 0; more = write())
    taken += more;
  EXPECT_LT(taken, std::size_t{64} << 20);
  EXPECT_FALSE(pair.here->wait({.write = true}, within(0ms)).write);
}

TEST_P(AnyConnection, EndsWhereTheOtherEndDoes) {
  const Pair pair = connected();
  pair.there->shut_down();
  std::byte got{};
  EXPECT_THROW(read_all(*pair.here, {&got, 1}, within(60s)), ConnectionLost);
}

TEST_P(AnyConnection, GoesOnBehindMemoryThatCannotBeRead) {
  const Pair pair = connected();
  const HalfMemory memory;
  const std::array<std::byte, 3> head{std::byte{1}, std::byte{2}, std::byte{3}};
  EXPECT_FALSE(write_all_or_zeros(*pair.here, head, memory.bytes()));
  EXPECT_TRUE(write_all_or_zeros(*pair.here, head, memory.good()));
  std::vector<std::byte> got(2 * head.size() + 3 * HalfMemory::page);
  read_all(*pair.there, got, within(5s));
  EXPECT_EQ(got[2], head[2]);
  EXPECT_EQ(got[head.size() + 2 * HalfMemory::page + 2], head[2]);
}

TEST_P(AnyConnection, GoesOnBehindMemoryThatCannotBeWritten) {
  const Pair pair = connected();
  const HalfMemory memory;
  std::vector<std::byte> sent(2 * HalfMemory::page, std::byte{5});
  sent.push_back(std::byte{6});
  write_all(*pair.there, sent);
  EXPECT_FALSE(read_all_or_drop(*pair.here, memory.bytes()));
  std::array<std::byte, 1> last{};
  EXPECT_TRUE(read_all_or_drop(*pair.here, last));
  EXPECT_EQ(last[0], std::byte{6});
}

TEST_P(AnyConnection, IsCountedAtBothEnds) {
  Pair pair = connected();
  Flows here;
  Flows there;
  pair.here = here.counted(3, std::move(pair.here));
  pair.there = there.counted(3, std::move(pair.there));
  const auto counts = [](Flows& flows) { return flows.states().at(3); };
  EXPECT_FALSE(counts(there).awaits);
  std::array<std::byte, 100> room{};
  EXPECT_EQ(pair.there->try_read(room, MemoryOf::library), 0U);
  EXPECT_TRUE(counts(there).awaits);
  EXPECT_FALSE(counts(there).awaits);  // it has not looked again
  write_all(*pair.here, std::span(room).first(60), std::span(room).first(7));
  EXPECT_EQ(counts(here).offered, 67U);
  read_all(*pair.there, std::span(room).first(67), within(60s));
  EXPECT_EQ(counts(there).received, 67U);
  EXPECT_EQ(counts(there).offered, 0U);
}

// Data that the network has not accepted counts as offered: the other end waits for it.
TEST_P(AnyConnection, CountsWhatIsNotTakenOnce) {
  Pair pair = connected();
  Flows flows;
  pair.here = flows.counted(1, std::move(pair.here));
  const auto data = noise(std::size_t{1} << 20);
  std::size_t taken = 0;
  for (std::size_t got = 1; got > 0; taken += got)
    got = pair.here->try_write(std::span(data).subspan(taken), {}, MemoryOf::library);
  for (int again = 0; again < 3; ++again) {
    pair.here->try_write(std::span(data).subspan(taken), {}, MemoryOf::library);
    EXPECT_EQ(flows.states().at(1).offered, data.size());
  }
  EXPECT_LT(taken, data.size());
}

TEST_P(AnyConnection, HasDeadlines) {
  const Pair pair = connected();
  std::byte got{};
  EXPECT_THROW(read_all(*pair.here, {&got, 1}, Clock::now()), ConnectionLost);
  const std::vector<std::byte> much(std::size_t{16} << 20);
  EXPECT_THROW(write_all(*pair.here, much, {}, Clock::now()), ConnectionLost);
}

TEST(TlsConnections, AreNotSetUpWithoutTheKey) {
  Pair pair;
  std::thread server([&] {
    EXPECT_THROW(secure(std::move(pair.there), TlsSide::server, Key(), words, within(60s)),
                 TlsError);
  });
  Key other;
  other.bytes()[0] = 1;
  EXPECT_THROW(secure(std::move(pair.here), TlsSide::client, other, words, within(60s)), TlsError);
  server.join();
}

TEST(TlsConnections, AreGivenUpAtTheDeadline) {
  Pair pair;
  EXPECT_THROW(secure(std::move(pair.here), TlsSide::client, Key(), words, within(50ms)),
               ConnectionLost);
  EXPECT_THROW(secure(std::move(pair.there), TlsSide::server, Key(), words, within(-50ms)),
               ConnectionLost);
}

}  // namespace
}  // namespace gpucast::remote
