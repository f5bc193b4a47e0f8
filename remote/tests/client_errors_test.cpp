// What goes wrong is told once, by the next call that waits, and what a program may do then.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "tests/client.h"

namespace gpucast::remote {
namespace {

constexpr std::size_t small = 4096;
constexpr std::size_t large = std::size_t{4} << 20;

class ClientErrors : public testing::TestWithParam<std::size_t> {
 protected:
  void serve(const char* failures = "") {
    ::setenv("GPUCAST_FAKE_FAIL", failures, 1);
    servers_.serve();
  }
  Servers servers_;
};
INSTANTIATE_TEST_SUITE_P(Sizes, ClientErrors, testing::Values(small, large));

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
  EXPECT_EQ(cudaMemcpyAsync(pinned.data(), device.data(), GetParam(), cudaMemcpyDefault, nullptr),
            cudaSuccess);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorInvalidValue);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
}

}  // namespace
}  // namespace gpucast::remote
