// Host functions of the program in its streams: they run in the stream's order, see the results of
// what came before, and later work sees theirs.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <functional>
#include <future>
#include <memory>

#include "tests/client.h"
#include "tests/saxpy.h"

namespace gpucast::remote {
namespace {

void call(void* body) { (*static_cast<std::function<void()>*>(body))(); }
void call_and_delete(void* body) {
  const std::unique_ptr<std::function<void()>> owned(static_cast<std::function<void()>*>(body));
  call(owned.get());
}

class HostFunctions : public OverSizes {};
INSTANTIATE_TEST_SUITE_P(Sizes, HostFunctions, way_sizes());

TEST_P(HostFunctions, SeeWhatCameBeforeAndAreSeenByWhatComesBehind) {
  servers_.serve("copy:0.02");
  const std::size_t bytes = GetParam();
  const DeviceMemory first(0, Content(bytes, 1));
  const DeviceMemory second(0, Content(bytes, 0));
  const PinnedMemory between(bytes);
  const Stream stream(0);
  std::memset(between.data(), 0, bytes);
  std::vector<int> seen;
  std::function<void()> body = [&] {
    seen.push_back(between.content() == Content(bytes, 1) ? 1 : 0);
    std::memset(between.data(), 7, bytes);
  };
  copy_async(between, first, bytes, stream);
  ASSERT_OK(cudaLaunchHostFunc(stream, call, &body));
  ASSERT_OK(copy_async(second, between, bytes, stream));
  stream.wait();
  EXPECT_EQ(seen, std::vector<int>{1});
  EXPECT_EQ(second.content(), Content(bytes, 7));
}

TEST_P(HostFunctions, KeepTheirStreamWaitingAndNoOther) {
  servers_.serve();
  const std::size_t bytes = GetParam();
  const DeviceMemory device(0, Content(bytes, 1));
  const PinnedMemory pinned(bytes);
  const PinnedMemory others(bytes);
  const Stream stream(0);
  const Stream other(0);
  std::promise<void> go;
  std::atomic<bool> ran{false};
  std::function<void()> body = [&] {
    go.get_future().wait();
    ran = true;
  };
  ASSERT_OK(cudaLaunchHostFunc(stream, call, &body));
  // Large copies from the device come one after another.
  copy_async(others, device, bytes, other);
  copy_async(pinned, device, bytes, stream);
  other.wait();
  EXPECT_EQ(others.content(), Content(bytes, 1));
  EXPECT_EQ(cudaStreamQuery(stream), cudaErrorNotReady);
  EXPECT_FALSE(ran);
  go.set_value();
  stream.wait();
  EXPECT_TRUE(ran);
  EXPECT_EQ(pinned.content(), Content(bytes, 1));
}

TEST(ManyHostFunctions, RunInOrderWhateverIsQueuedBehind) {
  const Servers servers(1);
  constexpr int count = 300;
  constexpr std::size_t bytes = 1000;
  DeviceMemory device(0, bytes);
  const PinnedMemory pinned(bytes);
  const Stream stream(0);
  std::vector<int> order;
  std::vector<std::function<void()>> bodies(count);
  for (int k = 0; k < count; ++k) {
    bodies[static_cast<std::size_t>(k)] = [&order, k] { order.push_back(k); };
    cudaMemsetAsync(device, k, bytes, stream);
    copy_async(pinned, device, bytes, stream);
    ASSERT_OK(cudaLaunchHostFunc(stream, call, &bodies[static_cast<std::size_t>(k)]));
  }
  // Waits for the whole GPU.
  device.free();
  EXPECT_EQ(order.size(), static_cast<std::size_t>(count));
  EXPECT_TRUE(std::ranges::is_sorted(order));
}

TEST(HostFunctionsThemselves, MayNotCallTheRuntime) {
  const Servers servers(1);
  cudaError_t status = cudaSuccess;
  std::function<void()> body = [&] { status = cudaDeviceSynchronize(); };
  ASSERT_OK(cudaLaunchHostFunc(nullptr, call, &body));
  EXPECT_OK(cudaDeviceSynchronize());
  EXPECT_EQ(status, cudaErrorNotPermitted);
}

TEST(Callbacks, AreToldTheirStreamAndHowItIs) {
  const Servers servers(1);
  struct Told {
    cudaStream_t stream = nullptr;
    cudaError_t status = cudaErrorUnknown;
  } told;
  const Stream stream(0);
  ASSERT_OK(cudaStreamAddCallback(
      stream,
      [](cudaStream_t its, cudaError_t status, void* data) {
        *static_cast<Told*>(data) = {.stream = its, .status = status};
      },
      &told, 0));
  stream.wait();
  EXPECT_EQ(told.stream, stream);
  EXPECT_OK(told.status);
}

TEST(HostFunctionsThatCannotBeQueued, NeverRun) {
  Servers servers;
  ::setenv("GPUCAST_FAKE_FAIL", "cuLaunchHostFunc:1:2", 1);
  servers.serve();
  int runs = 0;
  std::function<void()> body = [&] { ++runs; };
  const Stream stream(0);
  DeviceMemory device(0, 1000);
  ASSERT_OK(cudaLaunchHostFunc(stream, call, &body));
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaErrorMemoryAllocation);
  device.free();  // does not wait for a function
  EXPECT_EQ(runs, 0);
}

// ---- processes ----

TEST(HostFunctionsAndProcesses, AChildHasNoneOfThem) {
  const Servers servers(1);
  std::promise<void> go;
  std::function<void()> body = [&] { go.get_future().wait(); };
  const Stream stream(0);
  ASSERT_OK(cudaLaunchHostFunc(stream, call, &body));
  const pid_t child = begin_child();
  if (child == 0)
    ::_exit(cudaLaunchHostFunc(stream, call, &body) == cudaErrorInitializationError ? 0 : 1);
  EXPECT_EQ(status_of(child), 0);
  go.set_value();
  stream.wait();
}

TEST(HostFunctionsAndProcesses, AServerThatIsLostRunsNoneAndKeepsNobody) {
  Servers servers;
  auto server = std::make_unique<ServerProcess>(0);
  ::setenv("GPUCAST_REMOTE", server->address().c_str(), 1);
  ::setenv("GPUCAST_FAKE_DEVICES", "1", 1);
  struct Turn {
    std::promise<void> begun;
    std::promise<void> go;
  };
  const auto turn = std::make_shared<Turn>();
  // Nobody waits for its end, which may come after that of this test.
  auto body = std::make_unique<std::function<void()>>([turn] {
    turn->begun.set_value();
    turn->go.get_future().wait();
  });
  std::function<void()> never = [] { FAIL(); };
  const Stream stream(0);
  ASSERT_OK(cudaLaunchHostFunc(stream, call_and_delete, body.release()));
  ASSERT_OK(cudaLaunchHostFunc(stream, call, &never));
  turn->begun.get_future().wait();
  server.reset();
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaErrorDevicesUnavailable);
  turn->go.set_value();
}

// The process ends while one function runs and another waits.
TEST(HostFunctionsAndProcesses, AProgramThatEndsWaitsForNone) {
  const Servers servers(1);
  std::promise<void> begun;
  std::function<void()> body = [&] {
    begun.set_value();
    ::pause();
  };
  std::fflush(stdout);
  const pid_t child = begin_child();
  if (child == 0) {
    cudaStream_t stream = nullptr;
    cudaStreamCreate(&stream);
    cudaLaunchHostFunc(stream, call, &body);
    cudaLaunchHostFunc(stream, call, &body);
    begun.get_future().wait();
    std::exit(7);
  }
  EXPECT_EQ(status_of(child), 7);
}

}  // namespace
}  // namespace gpucast::remote
