// Memory pools, and allocations in the order of a stream.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <vector>

#include "tests/client.h"

namespace gpucast::remote {
namespace {

constexpr std::size_t pool_bytes = 100'000;

TEST(Pools, MemoryIsThereInTheOrderOfItsStream) {
  Servers servers;
  ::setenv("GPUCAST_FAKE_DELAY", "memset:0.02", 1);
  servers.serve();
  const Stream stream(0);
  const PinnedMemory received(pool_bytes);
  for (int step = 1; step < 6; ++step) {
    void* memory = nullptr;
    ASSERT_EQ(cudaMallocAsync(&memory, pool_bytes, stream.get()), cudaSuccess);
    ASSERT_EQ(cudaMemsetAsync(memory, step, pool_bytes, stream.get()), cudaSuccess);
    copy(received.data(), memory, pool_bytes, stream.get());
    ASSERT_EQ(cudaFreeAsync(memory, stream.get()), cudaSuccess);
    EXPECT_EQ(cudaMemsetAsync(memory, 0, pool_bytes, stream.get()), cudaErrorInvalidValue);
    stream.wait();
    EXPECT_EQ(received.content(), Content(pool_bytes, static_cast<std::uint8_t>(step)));
  }
  EXPECT_EQ(cudaFreeAsync(nullptr, stream.get()), cudaSuccess);
}

TEST(Pools, EitherFreeTakesEitherMemory) {
  Servers servers;
  servers.serve();
  const Stream stream(0);
  void* memory = nullptr;
  ASSERT_EQ(cudaMallocAsync(&memory, pool_bytes, stream.get()), cudaSuccess);
  EXPECT_EQ(cudaFree(memory), cudaSuccess);
  ASSERT_EQ(cudaMalloc(&memory, pool_bytes), cudaSuccess);
  EXPECT_EQ(cudaFreeAsync(memory, stream.get()), cudaSuccess);
  EXPECT_EQ(cudaFreeAsync(memory, stream.get()), cudaErrorInvalidValue);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
}

TEST(Pools, AreMadeAskedAndGone) {
  Servers servers;
  servers.serve();
  servers.serve();
  int supported = 0;
  ASSERT_EQ(cudaDeviceGetAttribute(&supported, cudaDevAttrMemoryPoolsSupported, 0), cudaSuccess);
  EXPECT_EQ(supported, 1);
  cudaMemPoolProps properties{};
  properties.allocType = cudaMemAllocationTypePinned;
  properties.location = {.type = cudaMemLocationTypeDevice, .id = 0};
  properties.maxSize = 2 * pool_bytes;
  cudaMemPool_t pool = nullptr;
  cudaMemPool_t usual = nullptr;
  cudaMemPool_t now = nullptr;
  ASSERT_EQ(cudaMemPoolCreate(&pool, &properties), cudaSuccess);
  ASSERT_EQ(cudaDeviceGetDefaultMemPool(&usual, 0), cudaSuccess);
  ASSERT_EQ(cudaDeviceGetMemPool(&now, 0), cudaSuccess);
  EXPECT_EQ(now, usual);
  EXPECT_EQ(cudaDeviceSetMemPool(1, pool), cudaErrorInvalidValue);
  ASSERT_EQ(cudaDeviceSetMemPool(0, pool), cudaSuccess);
  ASSERT_EQ(cudaDeviceGetMemPool(&now, 0), cudaSuccess);
  EXPECT_EQ(now, pool);
  std::uint64_t threshold = 12345;
  ASSERT_EQ(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold),
            cudaSuccess);
  threshold = 0;
  ASSERT_EQ(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold),
            cudaSuccess);
  EXPECT_EQ(threshold, 12345U);
  int flag = 1;
  ASSERT_EQ(cudaMemPoolSetAttribute(pool, cudaMemPoolReuseAllowOpportunistic, &flag), cudaSuccess);
  flag = 0;
  ASSERT_EQ(cudaMemPoolGetAttribute(pool, cudaMemPoolReuseAllowOpportunistic, &flag), cudaSuccess);
  EXPECT_EQ(flag, 1);
  // From the pool that was set, which holds two of these.
  void* first = nullptr;
  void* second = nullptr;
  void* third = nullptr;
  ASSERT_EQ(cudaMallocAsync(&first, pool_bytes, nullptr), cudaSuccess);
  ASSERT_EQ(cudaMallocFromPoolAsync(&second, pool_bytes, pool, nullptr), cudaSuccess);
  EXPECT_EQ(cudaMallocAsync(&third, pool_bytes, nullptr), cudaErrorMemoryAllocation);
  std::uint64_t used = 0;
  ASSERT_EQ(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &used), cudaSuccess);
  EXPECT_EQ(used, 2 * pool_bytes);
  EXPECT_EQ(cudaFreeAsync(first, nullptr), cudaSuccess);
  EXPECT_EQ(cudaFreeAsync(second, nullptr), cudaSuccess);
  EXPECT_EQ(cudaMemPoolTrimTo(pool, 0), cudaSuccess);
  EXPECT_EQ(cudaMemPoolDestroy(usual), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemPoolDestroy(pool), cudaSuccess);
  EXPECT_EQ(cudaMemPoolDestroy(pool), cudaErrorInvalidResourceHandle);
  ASSERT_EQ(cudaDeviceGetMemPool(&now, 0), cudaSuccess);
  EXPECT_EQ(now, usual);
  properties.handleTypes = cudaMemHandleTypePosixFileDescriptor;
  EXPECT_EQ(cudaMemPoolCreate(&pool, &properties), cudaErrorNotSupported);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
}

TEST(Pools, WhoseMemoryCollidesGiveOther) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "ThreadSanitizer ends a program that maps memory at an address in use";
#endif
  Servers servers;
  ::setenv("GPUCAST_FAKE_BASE", "0x7e9000000000", 1);
  servers.serve_anywhere();
  servers.serve_anywhere();
  std::vector<void*> memory(2);
  for (int device = 0; device < 2; ++device) {
    ASSERT_EQ(cudaSetDevice(device), cudaSuccess);
    ASSERT_EQ(cudaMallocAsync(&memory[static_cast<std::size_t>(device)], pool_bytes, nullptr),
              cudaSuccess);
    ASSERT_EQ(
        cudaMemsetAsync(memory[static_cast<std::size_t>(device)], device + 1, pool_bytes, nullptr),
        cudaSuccess);
  }
  EXPECT_NE(memory[0], memory[1]);
  for (int device = 0; device < 2; ++device) {
    Content content(pool_bytes);
    void* each = memory[static_cast<std::size_t>(device)];
    ASSERT_EQ(cudaSetDevice(device), cudaSuccess);
    copy(content.data(), each, pool_bytes);
    EXPECT_EQ(content, Content(pool_bytes, static_cast<std::uint8_t>(device + 1)));
    EXPECT_EQ(cudaFreeAsync(each, nullptr), cudaSuccess);
  }
}

}  // namespace
}  // namespace gpucast::remote
