// The properties of the fake driver that other tests rely on.
#include <gtest/gtest.h>

#include <atomic>
#include <future>

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

TEST(FakeDriver, AStreamDoesWhatItIsGivenInOrderAndTheDeviceFailsForGood) {
  Queues queues;
  Stream stream;
  std::vector<int> done;
  for (int k = 0; k < 100; ++k)
    queues.queue(stream, [&done, k] { done.push_back(k); });
  queues.wait_for_all();
  ASSERT_EQ(done.size(), 100U);
  EXPECT_TRUE(std::ranges::is_sorted(done));
  queues.queue(stream, [] { throw std::runtime_error("illegal"); });
  queues.queue(stream, [&done] { done.clear(); });
  queues.wait_for_all();
  EXPECT_EQ(queues.failure(), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_EQ(done.size(), 100U);
}

// Queues work on one stream, which is held, and then on another.
class Behind {
 public:
  Behind(Queues& queues, Stream& first, Stream& second) : queues_(queues) {
    queues_.queue(first, [this, held = release_.get_future().share()] {
      held.wait();
      first_is_done_ = true;
    });
    work_ = queues_.queue(second, [this] { came_second_ = first_is_done_.load(); });
  }
  // Never returns if the second stream's work does not finish.
  bool overtakes() {
    queues_.wait(work_);
    end();
    return !came_second_;
  }
  bool follows() {
    Stream alone{.blocking = false};
    queues_.wait(queues_.queue(alone, [] {}));  // everything that can begin has begun before this
    end();
    return came_second_;
  }

 private:
  void end() {
    release_.set_value();
    queues_.wait_for_all();
  }

  Queues& queues_;
  std::promise<void> release_;
  Work work_;
  std::atomic<bool> first_is_done_ = false;
  std::atomic<bool> came_second_ = false;
};

TEST(FakeDriver, TheLegacyStreamAndBlockingOnesWaitForOneAnotherAndNobodyElseDoes) {
  Queues queues;
  Stream blocking;
  Stream another;
  Stream alone{.blocking = false};
  Stream& legacy = queues.legacy();
  EXPECT_TRUE(Behind(queues, alone, alone).follows());
  EXPECT_TRUE(Behind(queues, legacy, blocking).follows());
  EXPECT_TRUE(Behind(queues, blocking, legacy).follows());
  EXPECT_TRUE(Behind(queues, blocking, another).overtakes());
  EXPECT_TRUE(Behind(queues, legacy, alone).overtakes());
  EXPECT_TRUE(Behind(queues, alone, legacy).overtakes());
}

TEST(FakeDriver, WorkWaitsForWhatAnotherStreamHeldThen) {
  Queues queues;
  Stream first{.blocking = false};
  Stream second{.blocking = false};
  std::promise<void> release;
  const Work held = queues.queue(first, [wait = release.get_future().share()] { wait.wait(); });
  queues.queue(second, [] {}, held);
  const Work behind = queues.queue(second, [] {});
  EXPECT_FALSE(queues.done(behind));
  release.set_value();
  queues.wait(behind);
  EXPECT_TRUE(queues.done(held));
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
