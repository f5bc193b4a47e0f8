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
#include <string>
#include <thread>
#include <vector>

#include "tests/server_process.h"

extern "C" {
void** __cudaRegisterFatBinary(void* wrapper);
void __cudaRegisterFunction(void** handle, const char* host, char* device, const char* name,
                            int thread_limit, uint3* thread, uint3* block, dim3* block_shape,
                            dim3* grid_shape, int* warp);
void __cudaRegisterVar(void** handle, char* host, char* device, const char* name, int ext,
                       std::size_t bytes, int constant, int global);
void __cudaUnregisterFatBinary(void** handle);
}

namespace gpucast::remote {
namespace {

// What nvcc puts into a program.
struct Container {
  std::uint32_t magic = 0xba55ed50;
  std::uint16_t version = 1;
  std::uint16_t header_bytes = 16;
  std::uint64_t bytes = 8;
  std::uint64_t content = 0;
};
struct Wrapper {
  std::uint32_t magic = 0x466243b1;
  std::uint32_t version = 1;
  const void* image = nullptr;
  const void* names = nullptr;
};

void host_saxpy() {}  // only its address is used

class Client : public testing::Test {
 protected:
  void SetUp() override {
    ::setenv("GPUCAST_FAKE_KERNELS", GPUCAST_TEST_KERNELS, 1);
    ::setenv("GPUCAST_FAKE_DEVICES", "2", 1);
    // Where sanitizers let memory be, at other addresses for each server.
    ::setenv("GPUCAST_FAKE_BASE", "0x7e9000000000", 1);
    servers_.push_back(std::make_unique<ServerProcess>(0));
    ::setenv("GPUCAST_FAKE_BASE", "0x7ea000000000", 1);
    servers_.push_back(std::make_unique<ServerProcess>(1));
    ::setenv("GPUCAST_REMOTE", (servers_[0]->address() + "," + servers_[1]->address()).c_str(), 1);
    handle_ = __cudaRegisterFatBinary(&wrapper_);
    __cudaRegisterFunction(handle_, reinterpret_cast<const char*>(&host_saxpy), nullptr, "saxpy",
                           -1, nullptr, nullptr, nullptr, nullptr, nullptr);
  }
  void TearDown() override { __cudaUnregisterFatBinary(handle_); }

  static cudaError_t saxpy(int n, float a, const float* x, float* y, cudaStream_t stream) {
    std::array<void*, 4> arguments = {&n, &a, &x, &y};
    return cudaLaunchKernel(reinterpret_cast<const void*>(&host_saxpy), dim3(1), dim3(32),
                            arguments.data(), 0, stream);
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
      TRY(saxpy(static_cast<int>(count), 2, static_cast<float*>(x), static_cast<float*>(y),
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
      // Some copies travel within messages, some over the channels.
      const std::size_t count = k < 3 ? 1000 : 100'000;
      threads.emplace_back(
          [&failed, k, count] { failed.at(k) = work(static_cast<int>(k % 2), count, 12); });
    }
    for (std::thread& thread : threads)
      thread.join();
    for (const std::string& each : failed)
      EXPECT_EQ(each, "");
  }

  std::vector<std::unique_ptr<ServerProcess>> servers_;
  Container container_;
  Wrapper wrapper_{.image = &container_};
  void** handle_ = nullptr;
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
  Container container;
  Wrapper wrapper{.image = &container};
  void** handle = __cudaRegisterFatBinary(&wrapper);
  char variable = 0;
  __cudaRegisterVar(handle, &variable, nullptr, "counter", 0, 8, 0, 0);
  void* address = nullptr;
  ASSERT_EQ(cudaGetSymbolAddress(&address, &variable), cudaSuccess);
  cudaPointerAttributes attributes{};
  ASSERT_EQ(cudaPointerGetAttributes(&attributes, address), cudaSuccess);
  EXPECT_EQ(attributes.type, cudaMemoryTypeDevice);
  __cudaUnregisterFatBinary(handle);
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
