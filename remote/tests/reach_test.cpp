// Copies by the protocol go to what the client has, and nowhere else, whatever the driver could
// reach.
#include <cuda.h>
#include <gtest/gtest.h>

#include <limits>

#include "tests/sessions.h"

namespace gpucast::remote {
namespace {

constexpr std::uint64_t own_bytes = 1000;
constexpr auto most = std::numeric_limits<std::uint64_t>::max();

TEST_F(Sessions, CopiesReachOnlyWhatTheClientHas) {
  // Which the fake driver, as one of a GPU that reaches its host's memory, would take.
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
  EXPECT_EQ(set(own.address + 1, most), CUDA_ERROR_INVALID_VALUE);
  const Memset rows{.to = own.address, .pitch = 100, .width = 50, .height = 10};
  EXPECT_EQ(client.call(rows), 0U);
  for (const std::uint64_t pitch : {std::uint64_t{106}, most / 9 + 1}) {
    Memset beyond = rows;
    beyond.pitch = pitch;
    EXPECT_EQ(client.call(beyond), CUDA_ERROR_INVALID_VALUE);
  }
  EXPECT_EQ(client.status_of(CopyFrom{.from = own.address, .bytes = own_bytes}), 0U);
  EXPECT_EQ(client.status_of(CopyFrom{.from = end, .bytes = 1}), CUDA_ERROR_INVALID_VALUE);
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

}  // namespace
}  // namespace gpucast::remote
