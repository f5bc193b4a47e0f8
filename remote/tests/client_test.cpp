// The client in this process with servers over the fake driver: from several threads at once, with
// sanitizers if the build has them. No CUDA compiler is needed: kernels are registered as nvcc's
// code would. Each test is a process of its own (CTest), since a process connects once.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <optional>
#include <thread>

#include "tests/client.h"
#include "tests/saxpy.h"

namespace gpucast::remote {
namespace {

class Client : public OverServers {
 protected:
  void SetUp() override {
    servers_.serve();
    servers_.serve();
  }

  // One thread's share of mixed work on one device; returns what went wrong.
  static std::string work(int device, std::size_t count, int steps) {
#define TRY(call)                                                  \
  if (const cudaError_t status = call; status != cudaSuccess) {    \
    return std::string(#call) + ": " + cudaGetErrorString(status); \
  }
    const std::size_t bytes = count * sizeof(float);
    const DeviceMemory x(device, bytes);
    const DeviceMemory y(device, bytes);
    const PinnedMemory pinned(bytes);
    const Stream stream(device);
    const Event begin;
    const Event end;
    float* const values = pinned.floats();
    for (int step = 0; step < steps; ++step) {
      std::fill_n(values, count, static_cast<float>(step));
      TRY(copy_async(x, values, bytes, stream));
      TRY(cudaMemsetAsync(y, 0, bytes, stream));
      TRY(cudaEventRecord(begin, stream));
      TRY(Saxpy::launch(static_cast<int>(count), 2, x.floats(), y.floats(), stream));
      TRY(cudaEventRecord(end, stream));
      TRY(copy_async(values, y, bytes, stream));
      TRY(cudaStreamSynchronize(stream));
      float milliseconds = -1;
      TRY(cudaEventElapsedTime(&milliseconds, begin, end));
      const auto right = [&](float value) { return value == 2 * static_cast<float>(step); };
      if (milliseconds < 0 || !std::all_of(values, values + count, right)) return "wrong result";
      if (step % 3 == 0) TRY(copy(y, x, bytes));
    }
#undef TRY
    return "";
  }

  static void work_from_threads() {
    std::array<std::string, 6> failed;
    std::vector<std::thread> threads;
    threads.reserve(failed.size());
    for (std::size_t k = 0; k < failed.size(); ++k) {
      // Some copies travel within messages, some over the bulk connections.
      const std::size_t count = k < 3 ? 1000 : 300'000;
      threads.emplace_back(
          [&failed, k, count] { failed.at(k) = work(static_cast<int>(k % 2), count, 12); });
    }
    for (std::thread& thread : threads)
      thread.join();
    for (const std::string& failure : failed)
      EXPECT_EQ(failure, "");
  }

  Saxpy saxpy_;
};

TEST_F(Client, WorksFromManyThreads) { work_from_threads(); }

TEST_F(Client, WorksFromManyThreadsWaitingForEveryCall) {
  ::setenv("GPUCAST_REMOTE_SYNC", "1", 1);
  work_from_threads();
}

// There are more answers than buffers hold, and nobody reads them until the end.
TEST_F(Client, ManyAsynchronousCopiesFillNoBufferForGood) {
  constexpr std::size_t bytes = 60'000;
  constexpr std::size_t copies = 400;
  const DeviceMemory device(0, Content(bytes, 7));
  const PinnedMemory pinned(bytes * copies);
  for (std::size_t k = 0; k < copies; ++k)
    ASSERT_OK(copy_async(pinned.data() + k * bytes, device, bytes));
  ASSERT_OK(cudaStreamSynchronize(nullptr));
  EXPECT_EQ(pinned.content(), Content(bytes * copies, 7));
}

// The server accepts no more messages while nobody reads its answers.
TEST_F(Client, ALargeCopyThatIsWaitedForComesThroughBehindManyThatNobodyReads) {
  constexpr std::size_t medium_bytes = std::size_t{1} << 20;
  constexpr std::size_t large_bytes = std::size_t{64} << 20;
  constexpr std::size_t copies = 150;
  const DeviceMemory device(0, large_bytes);
  const PinnedMemory pinned(medium_bytes * copies);
  const PinnedMemory received(large_bytes);
  const Stream other(0);
  const Content content(large_bytes, 7);
  for (const bool to_device : {true, false}) {
    for (std::size_t k = 0; k < copies; ++k)
      ASSERT_OK(copy_async(pinned.data() + k * medium_bytes, device, medium_bytes));
    if (to_device) {
      EXPECT_OK(copy_async(device, content.data(), large_bytes, other));
    } else {
      EXPECT_OK(copy_async(received, device, large_bytes, other));
      // Waits for the data of the copy above.
      EXPECT_OK(copy_async(device, received, medium_bytes, other));
    }
    EXPECT_OK(cudaDeviceSynchronize());
  }
  EXPECT_EQ(received.content(), content);
}

// New streams used to wait for an event that the reset had destroyed.
TEST_F(Client, StreamsThatAreMadeAfterAResetWork) {
  constexpr std::size_t bytes = 1000;
  const DeviceMemory before(0, Content(bytes, 1));
  ASSERT_OK(cudaDeviceReset());
  const Stream stream(0, cudaStreamDefault);
  const DeviceMemory after(0, bytes);
  EXPECT_OK(cudaMemsetAsync(after, 2, bytes, stream));
  stream.wait();
}

TEST_F(Client, AKernelThatFailsIsReportedByTheNextSynchronization) {
  ASSERT_OK(cudaSetDevice(0));
  std::array<void*, 4> arguments{};
  int n = 0;
  arguments.fill(&n);
  EXPECT_EQ(cudaLaunchKernel(&n, dim3(1), dim3(1), arguments.data(), 0, nullptr),
            cudaErrorInvalidDeviceFunction);
  // The server detects that the stream no longer exists.
  cudaStream_t stream = nullptr;
  ASSERT_OK(cudaStreamCreate(&stream));
  ASSERT_OK(cudaStreamDestroy(stream));
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaErrorInvalidResourceHandle);
  EXPECT_OK(cudaDeviceSynchronize());
}

TEST_F(Client, EachDeviceKeepsTheLimitsThatWereSet) {
  std::size_t value = 0;
  ASSERT_OK(cudaSetDevice(1));
  EXPECT_OK(cudaDeviceSetLimit(cudaLimitStackSize, 4096));
  EXPECT_OK(cudaDeviceGetLimit(&value, cudaLimitStackSize));
  EXPECT_EQ(value, 4096U);
  for (const cudaLimit memory :
       {cudaLimitStackSize, cudaLimitPrintfFifoSize, cudaLimitMallocHeapSize}) {
    EXPECT_EQ(cudaDeviceSetLimit(memory, std::size_t{1} << 40), cudaErrorMemoryAllocation);
  }
  EXPECT_EQ(cudaDeviceSetLimit(static_cast<cudaLimit>(7), 1), cudaErrorInvalidValue);
  ASSERT_OK(cudaSetDevice(0));
  EXPECT_OK(cudaDeviceGetLimit(&value, cudaLimitStackSize));
  EXPECT_EQ(value, 1024U);
}

TEST_F(Client, VariablesOfAnUnloadedLibraryAreNobodysMemory) {
  std::optional<FatBinary> library(std::in_place);
  char variable = 0;
  library->add_variable(&variable, "counter", 8);
  void* address = nullptr;
  ASSERT_OK(cudaGetSymbolAddress(&address, &variable));
  cudaPointerAttributes attributes{};
  ASSERT_OK(cudaPointerGetAttributes(&attributes, address));
  EXPECT_EQ(attributes.type, cudaMemoryTypeDevice);
  library.reset();
  ASSERT_OK(cudaPointerGetAttributes(&attributes, address));
  EXPECT_EQ(attributes.type, cudaMemoryTypeUnregistered);
}

TEST_F(Client, ALostServerFailsAllWhoWait) {
  ASSERT_OK(cudaSetDevice(1));
  ASSERT_OK(cudaDeviceSynchronize());
  std::atomic<int> lost{0};
  std::vector<std::thread> threads;
  threads.reserve(4);
  for (int k = 0; k < 4; ++k) {
    threads.emplace_back([&lost] {
      cudaSetDevice(1);
      for (;;) {
        if (const cudaError_t status = cudaDeviceSynchronize(); status != cudaSuccess) {
          if (status == cudaErrorDevicesUnavailable) ++lost;
          return;
        }
      }
    });
  }
  servers_.end(1);
  for (std::thread& thread : threads)
    thread.join();
  EXPECT_EQ(lost, 4);
  ASSERT_OK(cudaSetDevice(0));
  EXPECT_OK(cudaDeviceSynchronize());
}

}  // namespace
}  // namespace gpucast::remote
