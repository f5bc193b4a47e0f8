// Memory pools, and allocations in a stream's order.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include "tests/client.h"

namespace gpucast::remote {
namespace {

constexpr std::size_t pool_bytes = 100'000;

TEST(Pools, MemoryIsThereInTheOrderOfItsStream) {
  Servers servers;
  servers.serve("memset:0.02");
  const Stream stream(0);
  const PinnedMemory received(pool_bytes);
  for (int step = 1; step < 6; ++step) {
    void* memory = nullptr;
    ASSERT_OK(cudaMallocAsync(&memory, pool_bytes, stream));
    ASSERT_OK(cudaMemsetAsync(memory, step, pool_bytes, stream));
    ASSERT_OK(copy_async(received, memory, pool_bytes, stream));
    ASSERT_OK(cudaFreeAsync(memory, stream));
    EXPECT_EQ(cudaMemsetAsync(memory, 0, pool_bytes, stream), cudaErrorInvalidValue);
    stream.wait();
    EXPECT_EQ(received.content(), Content(pool_bytes, static_cast<std::uint8_t>(step)));
  }
  EXPECT_OK(cudaFreeAsync(nullptr, stream));
}

TEST(Pools, EitherFreeTakesEitherMemory) {
  const Servers servers(1);
  const Stream stream(0);
  void* memory = nullptr;
  ASSERT_OK(cudaMallocAsync(&memory, pool_bytes, stream));
  EXPECT_OK(cudaFree(memory));
  ASSERT_OK(cudaMalloc(&memory, pool_bytes));
  EXPECT_OK(cudaFreeAsync(memory, stream));
  EXPECT_EQ(cudaFreeAsync(memory, stream), cudaErrorInvalidValue);
  EXPECT_OK(cudaDeviceSynchronize());
}

TEST(Pools, AreMadeAskedAndGone) {
  const Servers servers(2);
  int supported = 0;
  ASSERT_OK(cudaDeviceGetAttribute(&supported, cudaDevAttrMemoryPoolsSupported, 0));
  EXPECT_EQ(supported, 1);
  cudaMemPoolProps properties{};
  properties.allocType = cudaMemAllocationTypePinned;
  properties.location = {.type = cudaMemLocationTypeDevice, .id = 0};
  properties.maxSize = 2 * pool_bytes;
  cudaMemPool_t pool = nullptr;
  cudaMemPool_t usual = nullptr;
  cudaMemPool_t now = nullptr;
  ASSERT_OK(cudaMemPoolCreate(&pool, &properties));
  ASSERT_OK(cudaDeviceGetDefaultMemPool(&usual, 0));
  ASSERT_OK(cudaDeviceGetMemPool(&now, 0));
  EXPECT_EQ(now, usual);
  EXPECT_EQ(cudaDeviceSetMemPool(1, pool), cudaErrorInvalidValue);
  ASSERT_OK(cudaDeviceSetMemPool(0, pool));
  ASSERT_OK(cudaDeviceGetMemPool(&now, 0));
  EXPECT_EQ(now, pool);
  std::uint64_t threshold = 12345;
  ASSERT_OK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold));
  threshold = 0;
  ASSERT_OK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold));
  EXPECT_EQ(threshold, 12345U);
  int flag = 1;
  ASSERT_OK(cudaMemPoolSetAttribute(pool, cudaMemPoolReuseAllowOpportunistic, &flag));
  flag = 0;
  ASSERT_OK(cudaMemPoolGetAttribute(pool, cudaMemPoolReuseAllowOpportunistic, &flag));
  EXPECT_EQ(flag, 1);
  // From the pool that was set, which has room for two of these.
  void* first = nullptr;
  void* second = nullptr;
  void* third = nullptr;
  ASSERT_OK(cudaMallocAsync(&first, pool_bytes, nullptr));
  ASSERT_OK(cudaMallocFromPoolAsync(&second, pool_bytes, pool, nullptr));
  EXPECT_EQ(cudaMallocAsync(&third, pool_bytes, nullptr), cudaErrorMemoryAllocation);
  std::uint64_t used = 0;
  ASSERT_OK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &used));
  EXPECT_EQ(used, 2 * pool_bytes);
  EXPECT_OK(cudaFreeAsync(first, nullptr));
  EXPECT_OK(cudaFreeAsync(second, nullptr));
  EXPECT_OK(cudaMemPoolTrimTo(pool, 0));
  EXPECT_EQ(cudaMemPoolDestroy(usual), cudaErrorInvalidValue);
  EXPECT_OK(cudaMemPoolDestroy(pool));
  EXPECT_EQ(cudaMemPoolDestroy(pool), cudaErrorInvalidResourceHandle);
  ASSERT_OK(cudaDeviceGetMemPool(&now, 0));
  EXPECT_EQ(now, usual);
  properties.handleTypes = cudaMemHandleTypePosixFileDescriptor;
  EXPECT_EQ(cudaMemPoolCreate(&pool, &properties), cudaErrorNotSupported);
  EXPECT_OK(cudaDeviceSynchronize());
}

TEST(Pools, WhoseMemoryCollidesGiveOther) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "ThreadSanitizer ends a program that maps memory at an address in use";
#endif
  Servers servers;
  ::setenv("GPUCAST_FAKE_BASE", "0x7e9000000000", 1);
  servers.serve_anywhere();
  servers.serve_anywhere();
  std::array<void*, 2> memory{};
  for (std::size_t k = 0; k < 2; ++k) {
    ASSERT_OK(cudaSetDevice(static_cast<int>(k)));
    ASSERT_OK(cudaMallocAsync(&memory.at(k), pool_bytes, nullptr));
    ASSERT_OK(cudaMemsetAsync(memory.at(k), static_cast<int>(k) + 1, pool_bytes, nullptr));
  }
  EXPECT_NE(memory[0], memory[1]);
  for (std::size_t k = 0; k < 2; ++k) {
    Content content(pool_bytes);
    ASSERT_OK(cudaSetDevice(static_cast<int>(k)));
    ASSERT_OK(copy(content.data(), memory.at(k), pool_bytes));
    EXPECT_EQ(content, Content(pool_bytes, static_cast<std::uint8_t>(k + 1)));
    EXPECT_OK(cudaFreeAsync(memory.at(k), nullptr));
  }
}

}  // namespace
}  // namespace gpucast::remote
