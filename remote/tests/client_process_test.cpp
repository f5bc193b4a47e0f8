// The client inside the program's process: threads, child processes, signals, exit.
#include <cuda_runtime_api.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <malloc.h>
#include <sys/stat.h>

#include <cstdio>
#include <latch>
#include <thread>

#include "tests/client.h"

// Not in the runtime's headers for C++ compilers of the host.
extern "C" {
cudaError_t cudaMemsetAsync_ptsz(void* to, int value, std::size_t bytes, cudaStream_t stream);
cudaError_t cudaStreamSynchronize_ptsz(cudaStream_t stream);
}

namespace gpucast::remote {
namespace {

class ClientProcess : public OverServers {};

// Ends a child, which only has this thread. A leak checker would report what other threads held.
[[noreturn]] void end_child(bool right) {
#ifdef __SANITIZE_ADDRESS__
  std::_Exit(right ? 0 : 1);
#else
  std::exit(right ? 0 : 1);
#endif
}

TEST_F(ClientProcess, LeavesItsConnectionsToTheParent) {
  servers_.serve();
  const Content content(1000, 7);
  const DeviceMemory device(0, content);
  const pid_t child = begin_child();
  if (child == 0) {
    void* memory = nullptr;
    const cudaError_t of_malloc = cudaMalloc(&memory, 64);
    const cudaError_t of_synchronize = cudaDeviceSynchronize();
    const bool refused =
        of_malloc == cudaErrorInitializationError && of_synchronize == cudaErrorInitializationError;
    if (!refused) std::fprintf(stderr, "the child was told %d, %d\n", of_malloc, of_synchronize);
    end_child(refused);
  }
  EXPECT_EQ(status_of(child), 0);
  EXPECT_EQ(device.content(), content);
}

TEST_F(ClientProcess, ConnectsInAChildIfItHasNotBefore) {
  servers_.serve();
  const pid_t child = begin_child();
  if (child == 0) std::exit(cudaDeviceSynchronize() == cudaSuccess ? 0 : 1);
  EXPECT_EQ(status_of(child), 0);
  EXPECT_OK(cudaDeviceSynchronize());
}

TEST_F(ClientProcess, LeavesNoSocketsToProgramsThatItStarts) {
  servers_.serve();
  const DeviceMemory device(0, Content(std::size_t{2} << 20, 1));  // over bulk connections
  int sockets = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    const int descriptor = std::stoi(entry.path().filename());
    struct stat facts{};
    if (::fstat(descriptor, &facts) != 0 || !S_ISSOCK(facts.st_mode)) continue;
    ++sockets;
    EXPECT_NE(::fcntl(descriptor, F_GETFD) & FD_CLOEXEC, 0) << descriptor;
  }
  EXPECT_GE(sockets, over_shared_memory() ? 2 : 6);  // four of them bulk connections
}

TEST_F(ClientProcess, LeavesSignalsToTheProgram) {
  servers_.serve();
  const DeviceMemory device(0, Content(std::size_t{2} << 20, 1));
  sigset_t signals;
  ::sigemptyset(&signals);
  ::sigaddset(&signals, SIGUSR1);
  ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  ::kill(::getpid(), SIGUSR1);
  const timespec limit{.tv_sec = 5, .tv_nsec = 0};
  EXPECT_EQ(::sigtimedwait(&signals, nullptr, &limit), SIGUSR1);
}

// A program that ends while its other threads are working; each has made a call before.
[[noreturn]] void end_amid_calls() {
  ::mallopt(M_PERTURB, 0xa5);  // freed memory does not keep its content
  void* memory = nullptr;
  if (cudaMalloc(&memory, 64) != cudaSuccess) std::_Exit(1);
  constexpr int threads = 6;
  std::latch all_call(threads);
  for (int k = 0; k < threads; ++k) {
    std::thread([&all_call, large = k % 2 == 0] {
      constexpr std::size_t bytes = std::size_t{2} << 20;
      void* device = nullptr;
      Content host(bytes);
      cudaMalloc(&device, bytes);
      all_call.count_down();
      for (;;) {
        if (large) {
          copy(host.data(), device, bytes);
        } else {
          cudaMemsetAsync(device, 1, 64, nullptr);
          cudaDeviceSynchronize();
        }
      }
    }).detach();
  }
  all_call.wait();
  std::exit(0);
}

TEST_F(ClientProcess, EndsWhileThreadsAreInCalls) {
  ::setenv("GPUCAST_FAKE_DELAY", "memset:0.005", 1);
  servers_.serve();
  for (int k = 0; k < 20; ++k) {
    const pid_t child = begin_child();
    if (child == 0) end_amid_calls();
    ASSERT_EQ(status_of(child), 0) << "run " << k;
  }
}

// ---- per-thread default streams ----

void use_own_stream(void* device) {
  EXPECT_OK(cudaMemsetAsync_ptsz(device, 1, 64, nullptr));
  EXPECT_OK(cudaStreamSynchronize_ptsz(nullptr));
}

TEST_F(ClientProcess, DestroysAThreadsStreamWithIt) {
  ::setenv("GPUCAST_FAKE_FAIL", "cuStreamDestroy:1:719", 1);  // which shows that it was called
  servers_.serve();
  const DeviceMemory device(0, 64);
  std::thread([&] { use_own_stream(device.data()); }).join();
  EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorLaunchFailure);
}

TEST_F(ClientProcess, GivesEachThreadANewStreamAfterAReset) {
  servers_.serve();
  const DeviceMemory before(0, 64);
  use_own_stream(before.data());
  std::thread([] { EXPECT_OK(cudaDeviceReset()); }).join();
  const DeviceMemory after(0, 64);
  use_own_stream(after.data());
  EXPECT_OK(cudaDeviceSynchronize());
}

}  // namespace
}  // namespace gpucast::remote
