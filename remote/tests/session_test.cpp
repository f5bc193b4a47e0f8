// Servers by the protocol alone: what a client does that keeps to no rules.
#include <cuda.h>
#include <gtest/gtest.h>

#include "tests/sessions.h"

namespace gpucast::remote {
namespace {

constexpr std::uint64_t shared_bytes = 1000;

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
  Shared foreign = shared;  // with what proves another
  foreign.proof = of_intruder.proof;
  Speaker user(second);
  for (const Shared& each : {guessed, longer, elsewhere, other_handle, foreign})
    EXPECT_EQ(user.call(Attach{.id = 20, .memory = each}), CUDA_ERROR_NOT_PERMITTED);
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
  const Address at = 0x7e9800000000;  // where sanitizers let memory be
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

}  // namespace
}  // namespace gpucast::remote
