// The client from within, against servers over the fake driver: from several threads at once, with
// sanitizers where the build has them. Needs no CUDA compiler: it registers a kernel as nvcc's code
// would. Each test is a process of its own (CTest), since a process connects once.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <optional>
#include <thread>
#include <vector>

#include "tests/client.h"
#include "tests/saxpy.h"

namespace gpucast::remote {
namespace {

class Client : public testing::Test {
 protected:
  Client() {
    servers_.serve();
    servers_.serve();
  }

  // One thread's share of mixed work on one device.
  static void work(int device, std::size_t count, int steps) {
    const std::size_t bytes = count * sizeof(float);
    const DeviceMemory x(device, bytes);
    const DeviceMemory y(device, bytes);
    const PinnedMemory pinned(bytes);
    const Stream stream(device);
    const Event begin;
    const Event end;
    const auto floats = [](std::uint8_t* memory) { return reinterpret_cast<float*>(memory); };
    float* const values = floats(pinned.data());
    for (int step = 0; step < steps; ++step) {
      std::fill_n(values, count, static_cast<float>(step));
      copy(x.data(), values, bytes, stream.get());
      EXPECT_EQ(cudaMemsetAsync(y.data(), 0, bytes, stream.get()), cudaSuccess);
      begin.record(stream.get());
      EXPECT_EQ(Saxpy::launch(static_cast<int>(count), 2, floats(x.data()), floats(y.data()),
                              stream.get()),
                cudaSuccess);
      end.record(stream.get());
      copy(values, y.data(), bytes, stream.get());
      stream.wait();
      float milliseconds = -1;
      EXPECT_EQ(cudaEventElapsedTime(&milliseconds, begin.get(), end.get()), cudaSuccess);
      EXPECT_GE(milliseconds, 0);
      EXPECT_EQ(std::count(values, values + count, 2 * static_cast<float>(step)),
                static_cast<std::ptrdiff_t>(count));
      if (step % 3 == 0) copy(y.data(), x.data(), bytes);
    }
  }

  static void work_from_threads() {
    constexpr int count = 6;
    std::vector<std::jthread> threads;
    threads.reserve(count);
    // Some copies travel within messages, some over the bulk connections.
    for (int k = 0; k < count; ++k)
      threads.emplace_back([k] { work(k % 2, k < 3 ? 1000 : 300'000, 12); });
  }

  Saxpy saxpy_;
  Servers servers_;
};

TEST_F(Client, WorksFromManyThreads) { work_from_threads(); }

TEST_F(Client, WorksFromManyThreadsWaitingForEveryCall) {
  ::setenv("GPUCAST_REMOTE_SYNC", "1", 1);
  work_from_threads();
}

// More answers than buffers hold, and nobody who reads them until the end.
TEST_F(Client, ManyAsynchronousCopiesFillNoBufferForGood) {
  constexpr std::size_t bytes = 60'000;
  constexpr std::size_t copies = 400;
  const DeviceMemory device(0, Content(bytes, 7));
  const PinnedMemory pinned(bytes * copies);
  for (std::size_t k = 0; k < copies; ++k)
    copy(pinned.data() + k * bytes, device.data(), bytes, nullptr);
  ASSERT_EQ(cudaStreamSynchronize(nullptr), cudaSuccess);
  EXPECT_EQ(pinned.content(), Content(bytes * copies, 7));
}

// The server takes no more messages while nobody reads what it has to send.
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
      copy(pinned.data() + k * medium_bytes, device.data(), medium_bytes, nullptr);
    if (to_device) {
      copy(device.data(), content.data(), large_bytes, other.get());
    } else {
      copy(received.data(), device.data(), large_bytes, other.get());
      copy(device.data(), received.data(), medium_bytes,
           other.get());  // waits for what that brings
    }
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  }
  EXPECT_TRUE(received.content() == content);
}

// Which waited for an event that the reset had destroyed.
TEST_F(Client, StreamsThatAreMadeAfterAResetWork) {
  constexpr std::size_t bytes = 1000;
  void* memory = nullptr;
  ASSERT_EQ(cudaMalloc(&memory, bytes), cudaSuccess);
  ASSERT_EQ(cudaMemset(memory, 1, bytes), cudaSuccess);
  ASSERT_EQ(cudaDeviceReset(), cudaSuccess);
  const DeviceMemory device(0, bytes);
  const Stream stream(0, cudaStreamDefault);
  EXPECT_EQ(cudaMemsetAsync(device.data(), 2, bytes, stream.get()), cudaSuccess);
  stream.wait();
}

TEST_F(Client, AKernelThatFailsIsReportedByTheNextSynchronization) {
  ASSERT_EQ(cudaSetDevice(0), cudaSuccess);
  std::array<void*, 4> arguments{};
  int n = 0;
  arguments.fill(&n);
  EXPECT_EQ(cudaLaunchKernel(&n, dim3(1), dim3(1), arguments.data(), 0, nullptr),
            cudaErrorInvalidDeviceFunction);
  // Longer than a stream that was destroyed: the server finds out.
  cudaStream_t stream = nullptr;
  ASSERT_EQ(cudaStreamCreate(&stream), cudaSuccess);
  ASSERT_EQ(cudaStreamDestroy(stream), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
}

TEST_F(Client, VariablesOfAnUnloadedLibraryAreNobodysMemory) {
  std::optional<FatBinary> library(std::in_place);
  char variable = 0;
  __cudaRegisterVar(library->handle(), &variable, nullptr, "counter", 0, 8, 0, 0);
  void* address = nullptr;
  ASSERT_EQ(cudaGetSymbolAddress(&address, &variable), cudaSuccess);
  cudaPointerAttributes attributes{};
  ASSERT_EQ(cudaPointerGetAttributes(&attributes, address), cudaSuccess);
  EXPECT_EQ(attributes.type, cudaMemoryTypeDevice);
  library.reset();
  ASSERT_EQ(cudaPointerGetAttributes(&attributes, address), cudaSuccess);
  EXPECT_EQ(attributes.type, cudaMemoryTypeUnregistered);
}

TEST_F(Client, ALostServerFailsAllWhoWait) {
  ASSERT_EQ(cudaSetDevice(1), cudaSuccess);
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  std::atomic<int> lost{0};
  {
    std::vector<std::jthread> threads;
    threads.reserve(4);
    for (int k = 0; k < 4; ++k) {
      threads.emplace_back([&lost] {
        cudaSetDevice(1);
        cudaError_t status = cudaSuccess;
        while (status == cudaSuccess)
          status = cudaDeviceSynchronize();
        if (status == cudaErrorDevicesUnavailable) ++lost;
      });
    }
    servers_.end(1);
  }
  EXPECT_EQ(lost, 4);
  ASSERT_EQ(cudaSetDevice(0), cudaSuccess);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
}

}  // namespace
}  // namespace gpucast::remote
