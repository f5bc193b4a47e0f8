// Servers whose clients break the rules of the protocol.
#include <cuda.h>
#include <fcntl.h>
#include <gtest/gtest.h>

#include <limits>

#include "tests/pairs.h"
#include "tests/sessions.h"
#include "transport/shared_memory.h"

namespace gpucast::remote {
namespace {

constexpr std::uint64_t shared_bytes = 1000;
constexpr std::uint64_t own_bytes = 1000;
constexpr auto largest = std::numeric_limits<std::uint64_t>::max();

TEST_F(Sessions, OneServerAttachesTheMemoryOfAnother) {
  const ServerProcess first(0);
  const ServerProcess second(1);
  Speaker owner(first);
  Speaker user(second);
  EXPECT_FALSE(owner.group().empty());
  EXPECT_EQ(owner.group(), user.group());
  Address address = 0;
  const Shared shared = owner.share(shared_bytes, address);
  Attached attached;
  ASSERT_EQ(user.call(Attach{.id = 20, .memory = shared}, attached), 0U);
  EXPECT_EQ(user.call(Memset{.to = attached.address, .value = 7, .width = shared_bytes}), 0U);
  EXPECT_EQ(user.call(Memset{.to = attached.address + shared_bytes, .value = 7, .width = 1 << 24}),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(user.call(Attach{.id = 20, .memory = shared}), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(user.call(Detach{.id = 20}), 0U);
  EXPECT_EQ(user.call(Detach{.id = 20}), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(user.call(Memset{.to = attached.address, .value = 7, .width = shared_bytes}),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(owner.call(MemFree{.address = address}), 0U);
  EXPECT_NE(user.call(Attach{.id = 21, .memory = shared}), 0U);
}

TEST_F(Sessions, AMemoryHandleWithoutItsProofIsRefusedAndTheServerGoesOn) {
  const ServerProcess first(0);
  const ServerProcess second(1);
  Speaker victim(first);
  Address address = 0;
  const Shared shared = victim.share(shared_bytes, address);
  Address own = 0;
  Speaker intruder(first);
  const Shared of_intruder = intruder.share(shared_bytes, own);

  Shared guessed = shared;
  guessed.proof = {};
  Shared longer = shared;
  longer.bytes *= 2;
  Shared elsewhere = shared;
  elsewhere.offset += 4096;
  Shared other_handle = shared;
  other_handle.handle[8] ^= 1U;
  Shared foreign = shared;  // with another client's proof
  foreign.proof = of_intruder.proof;
  Speaker user(second);
  for (const Shared& forged : {guessed, longer, elsewhere, other_handle, foreign})
    EXPECT_EQ(user.call(Attach{.id = 20, .memory = forged}), CUDA_ERROR_NOT_PERMITTED);
  EXPECT_EQ(user.call(Ping{}), 0U);
  EXPECT_EQ(user.call(Attach{.id = 20, .memory = of_intruder}), 0U);
  EXPECT_EQ(victim.call(Ping{}), 0U);
}

TEST_F(Sessions, ServersOfAnotherUserOrHostRefuse) {
  const ServerProcess first(0);
  const OwnFolder other;
  other.use();
  const ServerProcess second(1);
  Speaker owner(first);
  Speaker user(second);
  EXPECT_NE(owner.group(), user.group());
  Address address = 0;
  const Shared shared = owner.share(shared_bytes, address);
  EXPECT_EQ(user.call(Attach{.id = 20, .memory = shared}), CUDA_ERROR_NOT_PERMITTED);
  EXPECT_EQ(user.call(Ping{}), 0U);
}

TEST_F(Sessions, OnlyWhatWasAllocatedIsShared) {
  const ServerProcess server(0);
  Speaker client(server);
  Address address = 0;
  client.share(shared_bytes, address);
  EXPECT_EQ(client.call(Share{.address = address - 1}), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(client.call(Share{.address = address + shared_bytes}), CUDA_ERROR_INVALID_VALUE);
  Speaker other(server);
  EXPECT_EQ(other.call(Share{.address = address}), CUDA_ERROR_INVALID_VALUE);
  Allocated placed;
  const Address at = 0x7e9800000000;  // where sanitizers allow memory
  ASSERT_EQ(client.call(MemAlloc{.bytes = shared_bytes, .at = at}, placed), 0U);
  EXPECT_EQ(client.call(Share{.address = at}), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(client.call(MemFree{.address = address}), 0U);
  EXPECT_EQ(client.call(Share{.address = address}), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Sessions, NumbersThatNameNothingOfTheDriverAreRefused) {
  const ServerProcess server(0);
  Speaker client(server);
  PoolValue value;
  EXPECT_EQ(client.call(PoolGet{.attribute = CU_MEMPOOL_ATTR_RELEASE_THRESHOLD}, value), 0U);
  EXPECT_EQ(client.call(PoolGet{.attribute = CU_MEMPOOL_ATTR_USED_MEM_HIGH}, value), 0U);
  for (const std::int32_t number : {0, -1, CU_MEMPOOL_ATTR_USED_MEM_HIGH + 1, 0x597fffff}) {
    EXPECT_EQ(client.call(PoolGet{.attribute = number}, value), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(client.call(PoolSet{.attribute = number}), CUDA_ERROR_INVALID_VALUE);
  }
}

// Copies reach only the client's memory, whatever the driver could reach.
TEST_F(Sessions, CopiesReachOnlyWhatTheClientHas) {
  // The fake driver would accept any address, like one of a GPU that reaches its host's memory.
  ::setenv("GPUCAST_FAKE_REACHES_ALL", "1", 1);
  const ServerProcess server(0);
  ::unsetenv("GPUCAST_FAKE_REACHES_ALL");
  Speaker client(server);
  Allocated own;
  ASSERT_EQ(client.call(MemAlloc{.bytes = own_bytes}, own), 0U);
  const Address end = own.address + own_bytes;
  const auto set = [&](Address to, std::uint64_t width) {
    return client.call(Memset{.to = to, .value = 7, .width = width});
  };
  EXPECT_EQ(set(own.address, own_bytes), 0U);
  EXPECT_EQ(set(own.address, own_bytes + 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(set(own.address - 1, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(set(own.address + 1, largest), CUDA_ERROR_INVALID_VALUE);
  const Memset rows{.to = own.address, .pitch = 100, .width = 50, .height = 10};
  EXPECT_EQ(client.call(rows), 0U);
  for (const std::uint64_t pitch : {std::uint64_t{106}, largest / 9 + 1}) {
    Memset beyond = rows;
    beyond.pitch = pitch;
    EXPECT_EQ(client.call(beyond), CUDA_ERROR_INVALID_VALUE);
  }
  EXPECT_EQ(client.call(CopyFrom{.from = own.address, .bytes = own_bytes}), 0U);
  EXPECT_EQ(client.call(CopyFrom{.from = end, .bytes = 1}), CUDA_ERROR_INVALID_VALUE);
  const std::vector<std::byte> data(8);
  EXPECT_EQ(client.call(CopyTo{.to = end, .tail = {data}}), CUDA_ERROR_INVALID_VALUE);
  const CopyWithin within{.to = own.address, .from = own.address + 500, .width = 500};
  EXPECT_EQ(client.call(within), 0U);
  CopyWithin out = within;
  out.to = end;
  EXPECT_EQ(client.call(out), CUDA_ERROR_INVALID_VALUE);
  out = within;
  out.from += 1;
  EXPECT_EQ(client.call(out), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(client.call(MemFree{.address = own.address}), 0U);
  EXPECT_EQ(set(own.address, own_bytes), CUDA_ERROR_INVALID_VALUE);
}

// ---- complete copies to the device in pieces as our client never cuts them are copied ----

class OddPieces : public Sessions {
 protected:
  // Returns the server's content of the memory.
  static std::vector<std::byte> content(Speaker& client, Address address, std::uint64_t bytes) {
    return client.answer(client.say(CopyFrom{.from = address, .bytes = bytes}));
  }
};

// There are more pieces than a ring holds, none long enough for a mark.
TEST_F(OddPieces, OfAByteEachAreCopied) {
  const ServerProcess server(0);
  Speaker client(server);
  const std::vector<std::byte> data = bytes_of_pattern(10 * most_in_ring);
  const Address memory = client.ask(MemAlloc{.bytes = data.size()}).address;
  client.say(CopyToBulk{.to = memory, .bytes = data.size(), .transfer = 1});
  for (std::size_t k = data.size(); k-- > 0;)  // the last one first
    client.say_piece(bulk_piece(1, k, Bytes(data).subspan(k, 1)));
  EXPECT_EQ(content(client, memory, data.size()), data);
}

// The pieces of a copy may arrive before its call.
TEST_F(OddPieces, ThatComeBeforeTheirCopyAreCopied) {
  const ServerProcess server(0);
  Speaker client(server);
  const std::vector<std::byte> data = bytes_of_pattern(300'000);
  const Address memory = client.ask(MemAlloc{.bytes = data.size()}).address;
  client.say_piece(bulk_piece(7, 0, Bytes(data).first(100'000)));
  client.say_piece(bulk_piece(7, 100'000, Bytes(data).subspan(100'000)));
  client.say(CopyToBulk{.to = memory, .bytes = data.size(), .transfer = 7});
  EXPECT_EQ(content(client, memory, data.size()), data);
}

// Pieces without a call fill a ring, and disappear with the client.
TEST_F(OddPieces, OfNoCopyHarmNobodyElse) {
  const ServerProcess server(0);
  Speaker client(server);
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
    Speaker client(server);
    const Address memory = client.ask(MemAlloc{.bytes = data.size()}).address;
    client.say(CopyToBulk{.to = memory, .bytes = data.size(), .transfer = 1});
    client.say_piece(bulk_piece(1, offset, data));
    EXPECT_THROW(content(client, memory, data.size()), ConnectionLost);
  }
}

// ---- memory that a client shares with its server ----

constexpr std::size_t page = 4096;

// These tests use shared memory in every run.
class SharedSegments : public Sessions {
 protected:
  void SetUp() override {
    ::setenv("GPUCAST_REMOTE_TRANSPORT", "shared-memory", 1);
    Sessions::SetUp();
  }

  static Address allocate(Speaker& client, std::uint64_t bytes) {
    Allocated result;
    EXPECT_EQ(client.call(MemAlloc{.bytes = bytes}, result), 0U);
    return result.address;
  }
};

TEST_F(SharedSegments, AreCopiedFromAndTo) {
  const ServerProcess server(0);
  Speaker client(server);
  const SharedMemory memory = SharedMemory::make(2 * page);
  ASSERT_EQ(client.give(SegmentMap{.segment = 1, .bytes = 2 * page}, memory), 0U);
  const Address on_device = allocate(client, page);
  memory.bytes()[1] = std::byte{7};
  EXPECT_EQ(client.call(CopyToShared{.to = on_device, .segment = 1, .bytes = page}), 0U);
  EXPECT_EQ(
      client.call(CopyFromShared{.from = on_device, .segment = 1, .offset = page, .bytes = page}),
      0U);
  EXPECT_EQ(memory.bytes()[page + 1], std::byte{7});
  EXPECT_EQ(client.call(SegmentUnmap{.segment = 1}), 0U);
  EXPECT_EQ(client.call(CopyToShared{.to = on_device, .segment = 1, .bytes = page}),
            CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(SharedSegments, AreBoundedByTheServer) {
  const ServerProcess server(0);
  Speaker client(server);
  const SharedMemory memory = SharedMemory::make(2 * page);
  ASSERT_EQ(client.give(SegmentMap{.segment = 1, .bytes = 2 * page}, memory), 0U);
  const Address on_device = allocate(client, 4 * page);
  constexpr std::uint64_t far = ~std::uint64_t{0};
  for (const auto& [offset, bytes] : {std::pair<std::uint64_t, std::uint64_t>{0, 2 * page + 1},
                                      {page, page + 1},
                                      {2 * page, 1},
                                      {far, 1},
                                      {far, 2},
                                      {far - page + 1, 2 * page}}) {
    EXPECT_EQ(
        client.call(CopyToShared{.to = on_device, .segment = 1, .offset = offset, .bytes = bytes}),
        CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(client.call(CopyFromShared{
                  .from = on_device, .segment = 1, .offset = offset, .bytes = bytes}),
              CUDA_ERROR_INVALID_VALUE);
  }
  EXPECT_EQ(client.call(CopyToShared{.to = on_device + 4 * page, .segment = 1, .bytes = page}),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(client.call(CopyToShared{.to = on_device, .segment = 2, .bytes = page}),
            CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(client.call(Ping{}), 0U);
}

TEST_F(SharedSegments, AreRefusedWhereTheyAreNotSealedOrTooShort) {
  const ServerProcess server(0);
  Speaker client(server);
  const SharedMemory memory = SharedMemory::make(page);
  EXPECT_EQ(client.give(SegmentMap{.segment = 1, .bytes = 2 * page}, memory),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(client.give(SegmentMap{.segment = 1, .bytes = 0}, memory), CUDA_ERROR_INVALID_VALUE);
  ASSERT_EQ(client.give(SegmentMap{.segment = 1, .bytes = page}, memory), 0U);
  EXPECT_EQ(client.give(SegmentMap{.segment = 1, .bytes = page}, memory),
            CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(client.call(SegmentUnmap{.segment = 9}), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(client.call(Ping{}), 0U);
}

TEST_F(SharedSegments, ThatWereNotGivenEndTheSession) {
  const ServerProcess server(0);
  Speaker client(server);
  EXPECT_THROW(client.call(SegmentMap{.segment = 1, .bytes = page}), ConnectionLost);
}

TEST_F(SharedSegments, TakeNoMoreThanTheServerAllows) {
  const ServerProcess server(0, {"--max-pinned", "1MiB"});
  Speaker client(server);
  constexpr std::size_t half = std::size_t{512} << 10;
  for (const Id segment : {Id{1}, Id{2}}) {
    const SharedMemory memory = SharedMemory::make(half);
    EXPECT_EQ(client.give(SegmentMap{.segment = segment, .bytes = half}, memory), 0U);
  }
  const SharedMemory memory = SharedMemory::make(page);
  EXPECT_EQ(client.give(SegmentMap{.segment = 3, .bytes = page}, memory), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(client.call(SegmentUnmap{.segment = 1}), 0U);
  EXPECT_EQ(client.give(SegmentMap{.segment = 3, .bytes = page}, memory), 0U);
}

TEST_F(SharedSegments, ADriverThatRefusesOneLeavesTheSessionAsItIs) {
  ::setenv("GPUCAST_FAKE_FAIL", "cuMemHostRegister:1:2", 1);
  const ServerProcess server(0);
  Speaker client(server);
  const SharedMemory memory = SharedMemory::make(page);
  EXPECT_EQ(client.give(SegmentMap{.segment = 1, .bytes = page}, memory), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(client.give(SegmentMap{.segment = 1, .bytes = page}, memory), 0U);
}

}  // namespace
}  // namespace gpucast::remote
