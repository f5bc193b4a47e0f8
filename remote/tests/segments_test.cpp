// Memory that a client shares with its server, for clients that break the rules.
#include <cuda.h>
#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/mman.h>

#include "tests/sessions.h"
#include "transport/shared_memory.h"

namespace gpucast::remote {
namespace {

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
