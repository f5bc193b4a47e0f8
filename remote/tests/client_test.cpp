// The client from within, against servers over the fake driver: from several threads at once, with
// sanitizers where the build has them. Needs no CUDA compiler: it registers a kernel as nvcc's code
// would. Each test is a process of its own (CTest), since a process connects once.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "tests/saxpy.h"
#include "tests/server_process.h"

namespace gpucast::remote {
namespace {

class Client : public testing::Test {
 protected:
  void SetUp() override {
    ::setenv("GPUCAST_FAKE_DEVICES", "2", 1);
    // Where sanitizers let memory be, at other addresses for each server.
    ::setenv("GPUCAST_FAKE_BASE", "0x7e9000000000", 1);
    servers_.push_back(std::make_unique<ServerProcess>(0));
    ::setenv("GPUCAST_FAKE_BASE", "0x7ea000000000", 1);
    servers_.push_back(std::make_unique<ServerProcess>(1));
    ::setenv("GPUCAST_REMOTE", (servers_[0]->address() + "," + servers_[1]->address()).c_str(), 1);
  }

  // One thread's share of mixed work on one device; what went wrong.
  static std::string work(int device, std::size_t count, int steps) {
#define TRY(call)                                                  \
  if (const cudaError_t status = call; status != cudaSuccess) {    \
    return std::string(#call) + ": " + cudaGetErrorString(status); \
  }
    TRY(cudaSetDevice(device));
    const std::size_t bytes = count * sizeof(float);
    void* x = nullptr;
    void* y = nullptr;
    void* pinned = nullptr;
    cudaStream_t stream = nullptr;
    cudaEvent_t begin = nullptr;
    cudaEvent_t end = nullptr;
    TRY(cudaMalloc(&x, bytes));
    TRY(cudaMalloc(&y, bytes));
    TRY(cudaMallocHost(&pinned, bytes));
    TRY(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    TRY(cudaEventCreate(&begin));
    TRY(cudaEventCreate(&end));
    auto* values = static_cast<float*>(pinned);
    for (int step = 0; step < steps; ++step) {
      std::fill_n(values, count, static_cast<float>(step));
      TRY(cudaMemcpyAsync(x, values, bytes, cudaMemcpyDefault, stream));
      TRY(cudaMemsetAsync(y, 0, bytes, stream));
      TRY(cudaEventRecord(begin, stream));
      TRY(Saxpy::launch(static_cast<int>(count), 2, static_cast<float*>(x), static_cast<float*>(y),
                        stream));
      TRY(cudaEventRecord(end, stream));
      TRY(cudaMemcpyAsync(values, y, bytes, cudaMemcpyDefault, stream));
      TRY(cudaStreamSynchronize(stream));
      float milliseconds = -1;
      TRY(cudaEventElapsedTime(&milliseconds, begin, end));
      const auto right = [&](float value) { return value == 2 * static_cast<float>(step); };
      if (milliseconds < 0 || !std::all_of(values, values + count, right)) return "wrong result";
      if (step % 3 == 0) TRY(cudaMemcpy(y, x, bytes, cudaMemcpyDefault));
    }
    TRY(cudaEventDestroy(begin));
    TRY(cudaEventDestroy(end));
    TRY(cudaStreamDestroy(stream));
    TRY(cudaFreeHost(pinned));
    TRY(cudaFree(x));
    TRY(cudaFree(y));
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
    for (const std::string& each : failed)
      EXPECT_EQ(each, "");
  }

  std::vector<std::unique_ptr<ServerProcess>> servers_;
  Saxpy saxpy_;
};

TEST_F(Client, WorksFromManyThreads) { work_from_threads(); }

TEST_F(Client, WorksFromManyThreadsWaitingForEveryCall) {
  ::setenv("GPUCAST_REMOTE_SYNC", "1", 1);
  work_from_threads();
}

// More answers than buffers hold, and nobody who reads them until the end.
TEST_F(Client, ManyAsynchronousCopiesFillNoBufferForGood) {
  constexpr std::size_t bytes = 60'000;
  constexpr int copies = 400;
  void* on_device = nullptr;
  void* pinned = nullptr;
  ASSERT_EQ(cudaMalloc(&on_device, bytes), cudaSuccess);
  ASSERT_EQ(cudaMallocHost(&pinned, bytes * copies), cudaSuccess);
  ASSERT_EQ(cudaMemset(on_device, 7, bytes), cudaSuccess);
  auto* to = static_cast<unsigned char*>(pinned);
  for (int k = 0; k < copies; ++k)
    ASSERT_EQ(cudaMemcpyAsync(to + static_cast<std::size_t>(k) * bytes, on_device, bytes,
                              cudaMemcpyDefault, nullptr),
              cudaSuccess);
  ASSERT_EQ(cudaStreamSynchronize(nullptr), cudaSuccess);
  EXPECT_EQ(std::count(to, to + bytes * copies, 7), static_cast<long>(bytes * copies));
  EXPECT_EQ(cudaFreeHost(pinned), cudaSuccess);
  EXPECT_EQ(cudaFree(on_device), cudaSuccess);
}

// The server takes no more messages while nobody reads what it has to send.
TEST_F(Client, ALargeCopyThatIsWaitedForComesThroughBehindManyThatNobodyReads) {
  constexpr std::size_t medium_bytes = std::size_t{1} << 20;
  constexpr std::size_t large_bytes = std::size_t{64} << 20;
  constexpr std::size_t copies = 150;
  void* on_device = nullptr;
  void* pinned = nullptr;
  void* pinned_large = nullptr;
  cudaStream_t other = nullptr;
  ASSERT_EQ(cudaMalloc(&on_device, large_bytes), cudaSuccess);
  ASSERT_EQ(cudaMallocHost(&pinned, medium_bytes * copies), cudaSuccess);
  ASSERT_EQ(cudaMallocHost(&pinned_large, large_bytes), cudaSuccess);
  ASSERT_EQ(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking), cudaSuccess);
  std::vector<unsigned char> content(large_bytes, 7);
  auto* to = static_cast<unsigned char*>(pinned);
  for (const bool to_device : {true, false}) {
    for (std::size_t k = 0; k < copies; ++k)
      ASSERT_EQ(cudaMemcpyAsync(to + k * medium_bytes, on_device, medium_bytes, cudaMemcpyDefault,
                                nullptr),
                cudaSuccess);
    if (to_device) {
      EXPECT_EQ(cudaMemcpyAsync(on_device, content.data(), large_bytes, cudaMemcpyDefault, other),
                cudaSuccess);
    } else {
      EXPECT_EQ(cudaMemcpyAsync(pinned_large, on_device, large_bytes, cudaMemcpyDefault, other),
                cudaSuccess);
      // Waits for what that brings.
      EXPECT_EQ(cudaMemcpyAsync(on_device, pinned_large, medium_bytes, cudaMemcpyDefault, other),
                cudaSuccess);
    }
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  }
  EXPECT_EQ(std::memcmp(pinned_large, content.data(), large_bytes), 0);
  EXPECT_EQ(cudaStreamDestroy(other), cudaSuccess);
  EXPECT_EQ(cudaFreeHost(pinned_large), cudaSuccess);
  EXPECT_EQ(cudaFreeHost(pinned), cudaSuccess);
  EXPECT_EQ(cudaFree(on_device), cudaSuccess);
}

// Which waited for an event that the reset had destroyed.
TEST_F(Client, StreamsThatAreMadeAfterAResetWork) {
  constexpr std::size_t bytes = 1000;
  void* memory = nullptr;
  ASSERT_EQ(cudaMalloc(&memory, bytes), cudaSuccess);
  ASSERT_EQ(cudaMemset(memory, 1, bytes), cudaSuccess);
  ASSERT_EQ(cudaDeviceReset(), cudaSuccess);
  cudaStream_t stream = nullptr;
  ASSERT_EQ(cudaMalloc(&memory, bytes), cudaSuccess);
  ASSERT_EQ(cudaStreamCreate(&stream), cudaSuccess);
  EXPECT_EQ(cudaMemsetAsync(memory, 2, bytes, stream), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
  EXPECT_EQ(cudaFree(memory), cudaSuccess);
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
  servers_[1].reset();
  for (std::thread& thread : threads)
    thread.join();
  EXPECT_EQ(lost, 4);
  ASSERT_EQ(cudaSetDevice(0), cudaSuccess);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
}

}  // namespace
}  // namespace gpucast::remote
