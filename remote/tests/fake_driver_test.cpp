// The fake driver does what the tests above it rely on.
#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>

#include "fake/driver.h"

namespace gpucast::fake {
namespace {

TEST(FakeDriver, KernelsHaveTheirNamesInTheSource) {
  EXPECT_EQ(source_name("plain"), "plain");
  EXPECT_EQ(source_name("_ZN7gpucast5probe12_GLOBAL__N_15saxpyEifPKfPf"), "saxpy");
  EXPECT_EQ(source_name("_ZN1a5emptyIJddEEEvDpT_"), "empty<double, double>");
  EXPECT_EQ(source_name("_ZN7gpucast5probe12_GLOBAL__N_17factorsE"), "factors");
}

TEST(FakeDriver, ArgumentsLieWhereACompilerPutsThem) {
  const Kernel mixed = kernel("mixed", +[](const Shape&, char, double, short, int, char) {});
  const std::vector<std::size_t> offsets = {0, 8, 16, 20, 24};
  ASSERT_EQ(mixed.parameters.size(), offsets.size());
  for (std::size_t k = 0; k < offsets.size(); ++k)
    EXPECT_EQ(mixed.parameters[k].offset, offsets[k]);
}

TEST(FakeDriver, ADeviceDoesWhatItIsGivenInOrderAndFailsForGood) {
  const Settings settings;
  Device device(settings);
  std::vector<int> done;
  for (int k = 0; k < 100; ++k)
    device.queue([&done, k] { done.push_back(k); });
  device.wait_for_all();
  ASSERT_EQ(done.size(), 100U);
  EXPECT_TRUE(std::ranges::is_sorted(done));
  device.queue([] { throw std::runtime_error("illegal"); });
  device.queue([&done] { done.clear(); });
  device.wait_for_all();
  EXPECT_EQ(device.failure(), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_EQ(done.size(), 100U);
}

TEST(FakeDriver, MemoryIsWhereItWasAllocatedAndNowhereElse) {
  Settings settings;
  settings.memory = 1 << 20;
  Device device(settings);
  CUdeviceptr address = 0;
  ASSERT_EQ(device.allocate(address, 1000), CUDA_SUCCESS);
  EXPECT_TRUE(device.holds(address, 1000));
  EXPECT_FALSE(device.holds(address + 1, 1000));
  CUdeviceptr too_much = 0;
  EXPECT_EQ(device.allocate(too_much, 1 << 20), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(device.free(address), CUDA_SUCCESS);
  EXPECT_FALSE(device.holds(address, 1));
  EXPECT_EQ(device.free(address), CUDA_ERROR_INVALID_VALUE);
}

TEST(FakeDriver, MemoryIsSharedWithOtherProcessesOnly) {
  Settings settings;
  settings.lead = 512;
  Device device(settings);
  CUdeviceptr address = 0;
  ASSERT_EQ(device.allocate(address, 1000), CUDA_SUCCESS);
  CUdeviceptr mapped = 0;
  std::size_t bytes = 0;
  ASSERT_EQ(device.range(mapped, bytes, address + 999), CUDA_SUCCESS);
  EXPECT_EQ(mapped, address - 512);
  EXPECT_EQ(bytes, 1512U);
  EXPECT_EQ(device.range(mapped, bytes, address + 1000), CUDA_ERROR_INVALID_VALUE);
  CUipcMemHandle handle{};
  CUdeviceptr opened = 0;
  EXPECT_EQ(device.open(opened, handle), CUDA_ERROR_INVALID_VALUE);
  ASSERT_EQ(device.share(handle, address), CUDA_SUCCESS);
  EXPECT_EQ(device.open(opened, handle), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(device.close(address), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(device.free(address), CUDA_SUCCESS);
}

}  // namespace
}  // namespace gpucast::fake
