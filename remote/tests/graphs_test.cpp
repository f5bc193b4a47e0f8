// Graphs: what is recorded is done as a whole, again and again, with what the program's memory
// holds when it is launched.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

#include "tests/client.h"
#include "tests/saxpy.h"

namespace gpucast::remote {
namespace {

class Graphs : public testing::Test {
 protected:
  void serve(int count = 1, const char* delays = "") {
    ::setenv("GPUCAST_FAKE_DELAY", delays, 1);
    for (int k = 0; k < count; ++k)
      servers_.serve();
  }

  Saxpy saxpy_;
  Servers servers_;
};

// A graph that is ready, and gone with this.
class Instance {
 public:
  explicit Instance(cudaGraph_t graph) {
    EXPECT_EQ(cudaGraphInstantiate(&exec_, graph, 0), cudaSuccess);
  }
  ~Instance() { EXPECT_EQ(cudaGraphExecDestroy(exec_), cudaSuccess); }
  Instance(const Instance&) = delete;
  Instance& operator=(const Instance&) = delete;
  cudaGraphExec_t get() const { return exec_; }
  void launch(cudaStream_t stream) const { EXPECT_EQ(cudaGraphLaunch(exec_, stream), cudaSuccess); }

 private:
  cudaGraphExec_t exec_ = nullptr;
};

template <class Body>
cudaGraph_t recorded(cudaStream_t stream, Body body) {
  EXPECT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), cudaSuccess);
  body();
  cudaGraph_t graph = nullptr;
  EXPECT_EQ(cudaStreamEndCapture(stream, &graph), cudaSuccess);
  return graph;
}

constexpr std::size_t little_data = 4096;
constexpr std::size_t some_data = 300'000;
constexpr std::size_t much_data = (std::size_t{2} << 20) + 100;  // more than a message holds

class GraphSizes : public Graphs, public testing::WithParamInterface<std::size_t> {};
INSTANTIATE_TEST_SUITE_P(Sizes, GraphSizes, testing::Values(little_data, some_data, much_data));

// There, changed, and back; each launch reads what is in pinned memory then.
TEST_P(GraphSizes, EachLaunchTakesWhatTheMemoryHolds) {
  serve(1, "copy:0.005");
  const std::size_t bytes = GetParam();
  const DeviceMemory first(0, bytes);
  const DeviceMemory second(0, bytes);
  const PinnedMemory sent(bytes);
  const PinnedMemory received(bytes);
  const Stream stream(0);
  cudaGraph_t graph = recorded(stream.get(), [&] {
    copy(first.data(), sent.data(), bytes, stream.get());
    cudaMemsetAsync(first.data(), 9, 100, stream.get());
    copy(second.data(), first.data(), bytes, stream.get());
    copy(received.data(), second.data(), bytes, stream.get());
  });
  // Nothing was done yet.
  EXPECT_EQ(cudaStreamSynchronize(stream.get()), cudaSuccess);
  const Instance ready(graph);
  EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
  for (int step = 1; step < 8; ++step) {
    std::memset(sent.data(), step, bytes);
    ready.launch(stream.get());
    stream.wait();
    Content expected(bytes, static_cast<std::uint8_t>(step));
    std::fill_n(expected.begin(), 100, std::uint8_t{9});
    ASSERT_EQ(received.content(), expected) << step;
  }
}

// Several are under way at once, each with its own data.
TEST_P(GraphSizes, LaunchesThatFollowOneAnotherKeepTheirData) {
  serve(1, "copy:0.002");
  const std::size_t bytes = GetParam();
  constexpr std::size_t steps = 12;
  const DeviceMemory device(0, bytes);
  const PinnedMemory sent(bytes);
  const Stream stream(0);
  const Stream other(0);
  cudaGraph_t graph =
      recorded(stream.get(), [&] { copy(device.data(), sent.data(), bytes, stream.get()); });
  const Instance ready(graph);
  const PinnedMemory received(steps * bytes);
  for (std::size_t step = 0; step < steps; ++step) {
    // What was launched has taken it already.
    std::memset(sent.data(), static_cast<int>(step + 1), bytes);
    ready.launch(stream.get());
    copy(received.data() + step * bytes, device.data(), bytes, stream.get());
  }
  stream.wait();
  for (std::size_t step = 0; step < steps; ++step) {
    const auto* begin = received.data() + step * bytes;
    ASSERT_EQ(std::count(begin, begin + bytes, static_cast<std::uint8_t>(step + 1)),
              static_cast<long>(bytes));
  }
  EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
}

// Memory that a launch sends is what the one before it brings.
TEST_P(GraphSizes, ALaunchSendsWhatTheOneBeforeHasBrought) {
  serve(1, "copy:0.02");
  const std::size_t bytes = GetParam();
  const std::size_t count = bytes / sizeof(float);
  const DeviceMemory x(0, Content(bytes, 0));
  const DeviceMemory y(0, bytes);
  const PinnedMemory values(bytes);
  std::vector<float> ones(count, 1);
  copy(x.data(), ones.data(), count * sizeof(float));
  std::memset(values.data(), 0, bytes);
  const Stream stream(0);
  cudaGraph_t graph = recorded(stream.get(), [&] {
    copy(y.data(), values.data(), bytes, stream.get());
    Saxpy::launch(static_cast<int>(count), 2, reinterpret_cast<float*>(x.data()),
                  reinterpret_cast<float*>(y.data()), stream.get());
    copy(values.data(), y.data(), bytes, stream.get());
  });
  const Instance ready(graph);
  for (int step = 0; step < 3; ++step)
    ready.launch(stream.get());
  stream.wait();
  const auto* sums = reinterpret_cast<const float*>(values.data());
  EXPECT_EQ(std::count(sums, sums + count, 6.0F), static_cast<long>(count));
  EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
}

// ---- recording ----

TEST_F(Graphs, StreamsForkAndJoinWhereEventsSay) {
  serve(1, "kernel:0.005");
  constexpr int n = 64;
  const DeviceMemory x(0, Content(n * sizeof(float), 0));
  const DeviceMemory y(0, Content(n * sizeof(float), 0));
  const auto* from = reinterpret_cast<const float*>(x.data());
  auto* to = reinterpret_cast<float*>(y.data());
  const Stream main(0);
  const Stream side(0);
  const Event forked(cudaEventDisableTiming);
  const Event joined(cudaEventDisableTiming);
  cudaStreamCaptureStatus status{};
  cudaGraph_t graph = recorded(main.get(), [&] {
    EXPECT_EQ(Saxpy::launch(n, 1, from, to, main.get()), cudaSuccess);
    forked.record(main.get());
    EXPECT_EQ(cudaStreamIsCapturing(side.get(), &status), cudaSuccess);
    EXPECT_EQ(status, cudaStreamCaptureStatusNone);
    EXPECT_EQ(cudaStreamWaitEvent(side.get(), forked.get(), 0), cudaSuccess);
    EXPECT_EQ(cudaStreamIsCapturing(side.get(), &status), cudaSuccess);
    EXPECT_EQ(status, cudaStreamCaptureStatusActive);
    EXPECT_EQ(Saxpy::launch(n, 1, from, to, side.get()), cudaSuccess);
    EXPECT_EQ(Saxpy::launch(n, 1, from, to, main.get()), cudaSuccess);
    joined.record(side.get());
    EXPECT_EQ(cudaStreamWaitEvent(main.get(), joined.get(), 0), cudaSuccess);
    EXPECT_EQ(Saxpy::launch(n, 1, from, to, main.get()), cudaSuccess);
    EXPECT_EQ(cudaEventQuery(joined.get()), cudaErrorCapturedEvent);
  });
  EXPECT_EQ(cudaStreamIsCapturing(side.get(), &status), cudaSuccess);
  EXPECT_EQ(status, cudaStreamCaptureStatusNone);
  std::size_t nodes = 0;
  std::size_t edges = 0;
  std::size_t roots = 0;
  ASSERT_EQ(cudaGraphGetNodes(graph, nullptr, &nodes), cudaSuccess);
  ASSERT_EQ(cudaGraphGetEdges(graph, nullptr, nullptr, nullptr, &edges), cudaSuccess);
  ASSERT_EQ(cudaGraphGetRootNodes(graph, nullptr, &roots), cudaSuccess);
  EXPECT_EQ(nodes, 4U);
  EXPECT_EQ(edges, 4U);
  EXPECT_EQ(roots, 1U);
  EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
  // They can be used again.
  joined.record(side.get());
  EXPECT_EQ(cudaEventSynchronize(joined.get()), cudaSuccess);
}

TEST_F(Graphs, WhatCannotBeRecordedIsSaidAndLosesTheRecording) {
  serve();
  const DeviceMemory device(0, little_data);
  const Stream recording(0, cudaStreamDefault);
  const Stream aside(0, cudaStreamDefault);
  auto* const stream = recording.get();
  auto* const other = aside.get();
  cudaGraph_t graph = nullptr;
  const Event event(cudaEventDisableTiming);
  event.record(other);
  const auto begin = [&] {
    ASSERT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), cudaSuccess);
  };
  const auto lost = [&] {
    EXPECT_EQ(cudaMemsetAsync(device.data(), 1, little_data, stream),
              cudaErrorStreamCaptureInvalidated);
    EXPECT_EQ(cudaStreamEndCapture(stream, &graph), cudaErrorStreamCaptureInvalidated);
    EXPECT_EQ(graph, nullptr);
    EXPECT_EQ(cudaMemsetAsync(device.data(), 1, little_data, stream), cudaSuccess);
  };
  EXPECT_EQ(cudaStreamBeginCapture(nullptr, cudaStreamCaptureModeGlobal),
            cudaErrorStreamCaptureUnsupported);
  EXPECT_EQ(cudaStreamEndCapture(stream, &graph), cudaErrorIllegalState);
  begin();
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaErrorStreamCaptureUnsupported);
  lost();
  begin();
  EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorStreamCaptureUnsupported);
  lost();
  begin();
  EXPECT_EQ(cudaMemset(device.data(), 1, little_data), cudaErrorStreamCaptureImplicit);
  lost();
  begin();
  EXPECT_EQ(cudaStreamWaitEvent(stream, event.get(), 0), cudaErrorStreamCaptureIsolation);
  lost();
  // A stream that never comes back.
  begin();
  event.record(stream);
  ASSERT_EQ(cudaStreamWaitEvent(other, event.get(), 0), cudaSuccess);
  ASSERT_EQ(cudaMemsetAsync(device.data(), 1, little_data, other), cudaSuccess);
  EXPECT_EQ(cudaStreamEndCapture(stream, &graph), cudaErrorStreamCaptureUnjoined);
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
}

// ---- made node by node ----

cudaKernelNodeParams saxpy_node(std::array<void*, 4>& arguments) {
  return {.func = reinterpret_cast<void*>(&host_saxpy),
          .gridDim = dim3(1),
          .blockDim = dim3(32),
          .sharedMemBytes = 0,
          .kernelParams = arguments.data(),
          .extra = nullptr};
}

TEST_F(Graphs, AreMadeNodeByNodeAndChanged) {
  serve();
  constexpr int n = 64;
  constexpr std::size_t bytes = n * sizeof(float);
  const DeviceMemory x(0, bytes);
  const DeviceMemory y(0, bytes);
  const PinnedMemory sent(bytes);
  const PinnedMemory received(bytes);
  std::fill_n(reinterpret_cast<float*>(sent.data()), n, 1.0F);
  cudaGraph_t graph = nullptr;
  ASSERT_EQ(cudaGraphCreate(&graph, 0), cudaSuccess);
  cudaGraphNode_t zero = nullptr;
  cudaGraphNode_t up = nullptr;
  cudaGraphNode_t both = nullptr;
  cudaGraphNode_t kernel = nullptr;
  cudaGraphNode_t down = nullptr;
  cudaMemsetParams memset{};
  memset.dst = y.data();
  memset.elementSize = 4;
  memset.width = n;
  memset.height = 1;
  ASSERT_EQ(cudaGraphAddMemsetNode(&zero, graph, nullptr, 0, &memset), cudaSuccess);
  ASSERT_EQ(cudaGraphAddMemcpyNode1D(&up, graph, nullptr, 0, x.data(), sent.data(), bytes,
                                     cudaMemcpyHostToDevice),
            cudaSuccess);
  ASSERT_EQ(cudaGraphAddEmptyNode(&both, graph, nullptr, 0), cudaSuccess);
  int count = n;
  float a = 3;
  void* px = x.data();
  void* py = y.data();
  std::array<void*, 4> arguments = {&count, &a, &px, &py};
  cudaKernelNodeParams parameters = saxpy_node(arguments);
  ASSERT_EQ(cudaGraphAddKernelNode(&kernel, graph, &both, 1, &parameters), cudaSuccess);
  cudaMemcpy3DParms back{};
  back.srcPtr = {y.data(), bytes, bytes, 1};
  back.dstPtr = {received.data(), bytes, bytes, 1};
  back.extent = {bytes, 1, 1};
  back.kind = cudaMemcpyDeviceToHost;
  ASSERT_EQ(cudaGraphAddMemcpyNode(&down, graph, &kernel, 1, &back), cudaSuccess);
  const std::array firsts = {zero, up};
  const std::array seconds = {both, both};
  ASSERT_EQ(cudaGraphAddDependencies(graph, firsts.data(), seconds.data(), nullptr, 2),
            cudaSuccess);
  EXPECT_EQ(cudaGraphAddDependencies(graph, &zero, &zero, nullptr, 1), cudaErrorInvalidValue);
  cudaGraphNodeType type{};
  ASSERT_EQ(cudaGraphNodeGetType(down, &type), cudaSuccess);
  EXPECT_EQ(type, cudaGraphNodeTypeMemcpy);
  const Stream stream(0);
  const Instance ready(graph);
  const auto result = [&] {
    ready.launch(stream.get());
    stream.wait();
    const auto* values = reinterpret_cast<const float*>(received.data());
    EXPECT_EQ(std::count(values, values + n, values[0]), n);
    return values[0];
  };
  EXPECT_EQ(result(), 3);
  // The arguments are those of when the node was made, until it is told others.
  a = 5;
  EXPECT_EQ(result(), 3);
  ASSERT_EQ(cudaGraphExecKernelNodeSetParams(ready.get(), kernel, &parameters), cudaSuccess);
  EXPECT_EQ(result(), 5);
  a = 7;
  ASSERT_EQ(cudaGraphKernelNodeSetParams(kernel, &parameters), cudaSuccess);
  EXPECT_EQ(result(), 5);
  cudaGraphExecUpdateResultInfo info{};
  ASSERT_EQ(cudaGraphExecUpdate(ready.get(), graph, &info), cudaSuccess);
  EXPECT_EQ(info.result, cudaGraphExecUpdateSuccess);
  EXPECT_EQ(result(), 7);
  cudaKernelNodeParams told{};
  ASSERT_EQ(cudaGraphKernelNodeGetParams(kernel, &told), cudaSuccess);
  EXPECT_EQ(told.func, parameters.func);
  EXPECT_EQ(*static_cast<float*>(told.kernelParams[1]), 7);
  // Another copy within the same memory, of another size.
  ASSERT_EQ(cudaGraphExecMemcpyNodeSetParams1D(ready.get(), up, x.data(), sent.data(), bytes / 2,
                                               cudaMemcpyHostToDevice),
            cudaSuccess);
  EXPECT_EQ(result(), 7);
  cudaGraphNode_t more = nullptr;
  ASSERT_EQ(cudaGraphAddEmptyNode(&more, graph, &down, 1), cudaSuccess);
  EXPECT_EQ(cudaGraphExecUpdate(ready.get(), graph, &info), cudaErrorGraphExecUpdateFailure);
  EXPECT_EQ(info.result, cudaGraphExecUpdateErrorTopologyChanged);
  EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
  EXPECT_EQ(cudaGraphDestroy(graph), cudaErrorInvalidValue);
}

TEST_F(Graphs, WithoutNodesDoNothing) {
  serve();
  cudaGraph_t graph = nullptr;
  ASSERT_EQ(cudaGraphCreate(&graph, 0), cudaSuccess);
  const Instance ready(graph);
  ready.launch(nullptr);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
}

TEST_F(Graphs, WhoseNodesWaitForOneAnotherInACircleAreRefused) {
  serve();
  cudaGraph_t graph = nullptr;
  ASSERT_EQ(cudaGraphCreate(&graph, 0), cudaSuccess);
  cudaGraphNode_t first = nullptr;
  cudaGraphNode_t second = nullptr;
  ASSERT_EQ(cudaGraphAddEmptyNode(&first, graph, nullptr, 0), cudaSuccess);
  ASSERT_EQ(cudaGraphAddEmptyNode(&second, graph, &first, 1), cudaSuccess);
  ASSERT_EQ(cudaGraphAddDependencies(graph, &second, &first, nullptr, 1), cudaSuccess);
  cudaGraphExec_t exec = nullptr;
  EXPECT_EQ(cudaGraphInstantiate(&exec, graph, 0), cudaErrorInvalidValue);
}

// ---- what goes wrong ----

TEST_F(Graphs, MemoryThatIsGoneIsNotReached) {
  serve();
  const PinnedMemory received(little_data);
  DeviceMemory device(0, little_data);
  const Stream stream(0);
  cudaGraph_t graph = recorded(
      stream.get(), [&] { copy(received.data(), device.data(), little_data, stream.get()); });
  const Instance ready(graph);
  ready.launch(stream.get());
  stream.wait();
  device.free();
  ready.launch(stream.get());
  EXPECT_EQ(cudaStreamSynchronize(stream.get()), cudaErrorInvalidValue);
  EXPECT_EQ(cudaStreamSynchronize(stream.get()), cudaSuccess);
}

TEST_F(Graphs, ThatADriverCannotMakeReadyAreRefused) {
  ::setenv("GPUCAST_FAKE_FAIL", "cuGraphInstantiateWithFlags:1:2", 1);
  serve();
  const DeviceMemory device(0, little_data);
  const Stream stream(0);
  cudaGraph_t graph =
      recorded(stream.get(), [&] { cudaMemsetAsync(device.data(), 1, little_data, stream.get()); });
  cudaGraphExec_t exec = nullptr;
  EXPECT_EQ(cudaGraphInstantiate(&exec, graph, 0), cudaErrorMemoryAllocation);
  const Instance ready(graph);
  ready.launch(stream.get());
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_EQ(device.content(), Content(little_data, 1));
}

// ---- several devices ----

TEST_F(Graphs, OfSeveralDevicesKeepTheirOrder) {
  serve(2, "memset:0.02");
  const DeviceMemory first(0, Content(little_data, 0));
  const DeviceMemory second(1, Content(little_data, 0));
  const Stream main(0);
  const Stream side(1);
  const PinnedMemory between(little_data);
  const PinnedMemory received(little_data);
  ASSERT_EQ(cudaSetDevice(0), cudaSuccess);
  const Event forked(cudaEventDisableTiming);
  ASSERT_EQ(cudaSetDevice(1), cudaSuccess);
  const Event joined(cudaEventDisableTiming);
  // On the first device, then on the second, then on the first again.
  cudaGraph_t graph = recorded(main.get(), [&] {
    cudaMemsetAsync(first.data(), 1, little_data, main.get());
    copy(between.data(), first.data(), little_data, main.get());
    forked.record(main.get());
    cudaStreamWaitEvent(side.get(), forked.get(), 0);
    cudaMemsetAsync(second.data(), 2, little_data, side.get());
    copy(received.data(), second.data(), little_data, side.get());
    joined.record(side.get());
    cudaStreamWaitEvent(main.get(), joined.get(), 0);
    cudaMemsetAsync(first.data(), 3, little_data, main.get());
  });
  const Instance ready(graph);
  for (int step = 0; step < 2; ++step) {
    std::memset(received.data(), 0, little_data);
    ready.launch(main.get());
    main.wait();
    EXPECT_EQ(between.content(), Content(little_data, 1));
    EXPECT_EQ(received.content(), Content(little_data, 2));
    EXPECT_EQ(first.content(), Content(little_data, 3));
  }
}

}  // namespace
}  // namespace gpucast::remote
