// Pieces of copies to the device as no client of ours cuts them: what is whole is copied, and what
// is not stays without harm.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "tests/hostile_client.h"
#include "tests/pairs.h"
#include "tests/sessions.h"

namespace gpucast::remote {
namespace {

class OddPieces : public Sessions {
 protected:
  // What the server has of it.
  static std::vector<std::byte> content(HostileClient& client, Address address,
                                        std::uint64_t bytes) {
    return client.answer(client.say(CopyFrom{.from = address, .bytes = bytes}));
  }
};

// More than a ring holds, of which none is long enough to be worth a mark.
TEST_F(OddPieces, OfAByteEachAreCopied) {
  const ServerProcess server(0);
  HostileClient client(server);
  client.ask(Open{});
  const std::vector<std::byte> data = bytes_of_pattern(10 * most_in_ring);
  const Address memory = client.ask(MemAlloc{.bytes = data.size()}).address;
  client.say(CopyToBulk{.to = memory, .bytes = data.size(), .transfer = 1});
  for (std::size_t k = data.size(); k-- > 0;)  // the last first
    client.say_piece(bulk_piece(1, k, Bytes(data).subspan(k, 1)));
  EXPECT_EQ(content(client, memory, data.size()), data);
}

// The pieces of a copy may come before it is asked for.
TEST_F(OddPieces, ThatComeBeforeTheirCopyAreCopied) {
  const ServerProcess server(0);
  HostileClient client(server);
  client.ask(Open{});
  const std::vector<std::byte> data = bytes_of_pattern(300'000);
  const Address memory = client.ask(MemAlloc{.bytes = data.size()}).address;
  client.say_piece(bulk_piece(7, 0, Bytes(data).first(100'000)));
  client.say_piece(bulk_piece(7, 100'000, Bytes(data).subspan(100'000)));
  client.say(CopyToBulk{.to = memory, .bytes = data.size(), .transfer = 7});
  EXPECT_EQ(content(client, memory, data.size()), data);
}

// What nobody asks for fills a ring, and goes with the client.
TEST_F(OddPieces, OfNoCopyHarmNobodyElse) {
  const ServerProcess server(0);
  HostileClient client(server);
  client.ask(Open{});
  const std::vector<std::byte> data = bytes_of_pattern(1000);
  for (Id transfer = 1; transfer <= 2 * most_in_ring; ++transfer)
    client.say_piece(bulk_piece(transfer, 0, data));
  client.ask(MemInfo{});
  Speaker other(server);
  MemAmounts info;
  EXPECT_EQ(other.call(MemInfo{}, info), 0U);
}

TEST_F(OddPieces, BeyondTheirCopyEndTheSession) {
  const ServerProcess server(0);
  const std::vector<std::byte> data = bytes_of_pattern(1000);
  for (const std::uint64_t offset : {std::uint64_t{1}, std::uint64_t{1000}, ~std::uint64_t{0}}) {
    HostileClient client(server);
    client.ask(Open{});
    const Address memory = client.ask(MemAlloc{.bytes = data.size()}).address;
    client.say(CopyToBulk{.to = memory, .bytes = data.size(), .transfer = 1});
    client.say_piece(bulk_piece(1, offset, data));
    EXPECT_THROW(content(client, memory, data.size()), ConnectionLost);
  }
}

}  // namespace
}  // namespace gpucast::remote
