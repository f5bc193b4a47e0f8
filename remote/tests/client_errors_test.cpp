// What goes wrong is told once, by the next call that waits, and what a program may do then.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/client.h"
#include "tests/pairs.h"

namespace gpucast::remote {
namespace {

constexpr std::size_t small = 4096;
constexpr std::size_t medium = 300'000;
constexpr std::size_t large = std::size_t{4} << 20;

class ClientErrors : public testing::TestWithParam<std::size_t> {
 protected:
  void serve(const char* failures = "") {
    ::setenv("GPUCAST_FAKE_FAIL", failures, 1);
    servers_.serve();
  }
  Servers servers_;
};
INSTANTIATE_TEST_SUITE_P(Sizes, ClientErrors, testing::Values(small, medium, large));

TEST_P(ClientErrors, ABlockingCopyTellsWhatFailedBefore) {
  serve("cuMemsetD2D8Async:1:719");
  const DeviceMemory device(0, GetParam());
  Content host(GetParam());
  ASSERT_EQ(cudaMemset2DAsync(device.data(), 64, 1, 64, 8, nullptr), cudaSuccess);
  EXPECT_EQ(cudaMemcpy(host.data(), device.data(), GetParam(), cudaMemcpyDefault),
            cudaErrorLaunchFailure);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
}

TEST_P(ClientErrors, ABlockingCopyThatFailsIsToldOnce) {
  serve("cuMemcpyDtoHAsync:1:1");
  const DeviceMemory device(0, GetParam());
  Content host(GetParam());
  EXPECT_EQ(cudaMemcpy(host.data(), device.data(), GetParam(), cudaMemcpyDefault),
            cudaErrorInvalidValue);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
}

TEST_P(ClientErrors, AnAsynchronousCopyThatFailsIsToldOnce) {
  serve("cuMemcpyDtoHAsync:1:1");
  const DeviceMemory device(0, GetParam());
  const PinnedMemory pinned(GetParam());
  copy(pinned.data(), device.data(), GetParam(), nullptr);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorInvalidValue);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
}

// ---- memory that is not the program's ----

TEST_P(ClientErrors, MemoryThatCannotBeReadIsAnInvalidValue) {
  serve();
  const HalfMemory none(GetParam());
  const DeviceMemory device(0, GetParam());
  EXPECT_EQ(cudaMemcpy(device.data(), none.bad(), GetParam(), cudaMemcpyDefault),
            cudaErrorInvalidValue);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  const Content content(GetParam(), 3);
  EXPECT_EQ(DeviceMemory(0, content).content(), content);
}

TEST_P(ClientErrors, RegisteredMemoryThatCannotBeReadIsToldBySomeCall) {
  serve();
  const HalfMemory none(GetParam());
  const DeviceMemory device(0, GetParam());
  ASSERT_EQ(cudaHostRegister(none.bad(), GetParam(), 0), cudaSuccess);
  const cudaError_t at_once =
      cudaMemcpyAsync(device.data(), none.bad(), GetParam(), cudaMemcpyDefault, nullptr);
  EXPECT_EQ(cudaHostUnregister(none.bad()), cudaSuccess);  // waits for it
  const cudaError_t then = cudaDeviceSynchronize();
  EXPECT_EQ(at_once != cudaSuccess ? at_once : then, cudaErrorInvalidValue);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
}

TEST(ClientErrorsOfLargeCopies, MemoryThatCannotBeWrittenIsAnInvalidValue) {
  Servers servers;
  servers.serve();
  const HalfMemory none(large);
  const Content content(large, 3);
  const DeviceMemory device(0, content);
  EXPECT_EQ(cudaMemcpy(none.bad(), device.data(), large, cudaMemcpyDefault), cudaErrorInvalidValue);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_EQ(device.content(), content);
}

// ---- sizes ----

TEST(Sizes, ThatNoMemoryHasAreRefused) {
  Servers servers;
  servers.serve();
  void* memory = nullptr;
  std::size_t pitch = 0;
  EXPECT_EQ(cudaMallocPitch(&memory, &pitch, std::size_t{1} << 40, std::size_t{1} << 24),
            cudaErrorMemoryAllocation);
  EXPECT_EQ(cudaMallocPitch(&memory, &pitch, ~std::size_t{0} - 5, 1), cudaErrorMemoryAllocation);
  EXPECT_EQ(cudaMallocPitch(&memory, &pitch, (std::size_t{1} << 63) + 512, 2),
            cudaErrorMemoryAllocation);
  const DeviceMemory device(0, 4096);
  const Content host(4096);
  EXPECT_EQ(cudaMemset2D(device.data(), std::size_t{1} << 62, 1, 64, 5), cudaErrorInvalidValue);
  EXPECT_EQ(
      cudaMemcpy2D(device.data(), std::size_t{1} << 62, host.data(), 64, 64, 5, cudaMemcpyDefault),
      cudaErrorInvalidValue);
  EXPECT_EQ(
      cudaMemcpy2D(device.data(), 64, host.data(), std::size_t{1} << 62, 64, 5, cudaMemcpyDefault),
      cudaErrorInvalidValue);
}

// ---- registered memory ----

TEST(RegisteredMemory, IsNotRegisteredTwiceAndKnowsItsFlags) {
  Servers servers;
  servers.serve();
  Content host(10'000);
  ASSERT_EQ(cudaHostRegister(&host[1000], 1000, cudaHostRegisterPortable), cudaSuccess);
  EXPECT_EQ(cudaHostRegister(&host[1999], 1000, 0), cudaErrorHostMemoryAlreadyRegistered);
  EXPECT_EQ(cudaHostRegister(host.data(), 1001, 0), cudaErrorHostMemoryAlreadyRegistered);
  EXPECT_EQ(cudaHostRegister(host.data(), 10'000, 0), cudaErrorHostMemoryAlreadyRegistered);
  EXPECT_EQ(cudaHostRegister(host.data(), 1000, 0), cudaSuccess);
  EXPECT_EQ(cudaHostRegister(&host[2000], 1000, 1U << 20U), cudaErrorInvalidValue);
  unsigned flags = 0;
  EXPECT_EQ(cudaHostGetFlags(&flags, &host[1500]), cudaSuccess);
  EXPECT_EQ(flags, cudaHostRegisterPortable);
  EXPECT_EQ(cudaHostUnregister(&host[1000]), cudaSuccess);
  EXPECT_EQ(cudaHostUnregister(host.data()), cudaSuccess);
}

// Only what is pinned as a whole may be written later.
TEST(RegisteredMemory, HasToHoldTheWholeCopy) {
  Servers servers;
  ::setenv("GPUCAST_FAKE_DELAY", "memset:0.1", 1);
  servers.serve();
  Content host(8192);
  ASSERT_EQ(cudaHostRegister(host.data(), 4096, 0), cudaSuccess);
  const DeviceMemory device(0, 8192);
  ASSERT_EQ(cudaMemsetAsync(device.data(), 7, 8192, nullptr), cudaSuccess);
  copy(host.data(), device.data(), 8192, nullptr);
  EXPECT_EQ(host, Content(8192, 7));
  EXPECT_EQ(cudaHostUnregister(host.data()), cudaSuccess);
}

}  // namespace
}  // namespace gpucast::remote
