// Graphs: recorded work is done as a whole, repeatedly, with the content of the program's memory at
// each launch.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "tests/client.h"
#include "tests/saxpy.h"

namespace gpucast::remote {
namespace {

class Graphs : public OverServers {
 protected:
  Saxpy saxpy_;
};

using Graph = Owned<cudaGraph_t, cudaGraphDestroy>;

// An executable graph, destroyed with this object.
class Instance : public Owned<cudaGraphExec_t, cudaGraphExecDestroy> {
 public:
  explicit Instance(cudaGraph_t graph) { EXPECT_OK(cudaGraphInstantiate(&handle_, graph, 0)); }
  void launch(cudaStream_t stream) const { EXPECT_OK(cudaGraphLaunch(handle_, stream)); }
};

template <class Body>
Graph recorded(cudaStream_t stream, Body body) {
  EXPECT_OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  body();
  cudaGraph_t graph = nullptr;
  EXPECT_OK(cudaStreamEndCapture(stream, &graph));
  return Graph(graph);
}

Graph empty_graph() {
  cudaGraph_t graph = nullptr;
  EXPECT_OK(cudaGraphCreate(&graph, 0));
  return Graph(graph);
}

constexpr std::size_t little_data = 4096;
constexpr std::size_t some_data = 300'000;
constexpr std::size_t much_data = (std::size_t{2} << 20) + 100;  // more than a message holds

class GraphSizes : public Graphs, public testing::WithParamInterface<std::size_t> {};
INSTANTIATE_TEST_SUITE_P(Sizes, GraphSizes, testing::Values(little_data, some_data, much_data));

// Data goes to the device, is changed, and comes back; each launch reads the pinned memory again.
TEST_P(GraphSizes, EachLaunchTakesWhatTheMemoryHolds) {
  servers_.serve("copy:0.005");
  const std::size_t bytes = GetParam();
  const DeviceMemory first(0, bytes);
  const DeviceMemory second(0, bytes);
  const PinnedMemory sent(bytes);
  const PinnedMemory received(bytes);
  const Stream stream(0);
  Graph graph = recorded(stream, [&] {
    copy_async(first, sent, bytes, stream);
    cudaMemsetAsync(first, 9, 100, stream);
    copy_async(second, first, bytes, stream);
    copy_async(received, second, bytes, stream);
  });
  // Nothing has been done yet.
  EXPECT_OK(cudaStreamSynchronize(stream));
  const Instance ready(graph);
  graph.free();
  for (int step = 1; step < 8; ++step) {
    std::memset(sent.data(), step, bytes);
    ready.launch(stream);
    stream.wait();
    Content expected(bytes, static_cast<std::uint8_t>(step));
    std::fill_n(expected.begin(), 100, std::uint8_t{9});
    ASSERT_EQ(received.content(), expected) << step;
  }
}

// Several launches are in progress at once, each with its own data.
TEST_P(GraphSizes, LaunchesThatFollowOneAnotherKeepTheirData) {
  servers_.serve("copy:0.002");
  const std::size_t bytes = GetParam();
  constexpr std::size_t steps = 12;
  const DeviceMemory device(0, bytes);
  const PinnedMemory sent(bytes);
  const Stream stream(0);
  const Stream other(0);
  const Graph graph = recorded(stream, [&] { copy_async(device, sent, bytes, stream); });
  const Instance ready(graph);
  const PinnedMemory received(steps * bytes);
  for (std::size_t step = 0; step < steps; ++step) {
    // The launch has read it already.
    std::memset(sent.data(), static_cast<int>(step + 1), bytes);
    ready.launch(stream);
    copy_async(received.data() + step * bytes, device, bytes, stream);
  }
  stream.wait();
  for (std::size_t step = 0; step < steps; ++step) {
    const auto* begin = received.data() + step * bytes;
    ASSERT_EQ(std::count(begin, begin + bytes, static_cast<std::uint8_t>(step + 1)),
              static_cast<long>(bytes));
  }
}

// A launch sends memory that the previous launch writes.
TEST_P(GraphSizes, ALaunchSendsWhatTheOneBeforeHasBrought) {
  servers_.serve("copy:0.02");
  const std::size_t bytes = GetParam();
  const std::size_t count = bytes / sizeof(float);
  const DeviceMemory x(0, Content(bytes, 0));
  const DeviceMemory y(0, bytes);
  const PinnedMemory values(bytes);
  std::vector<float> ones(count, 1);
  ASSERT_OK(copy(x, ones.data(), count * sizeof(float)));
  std::memset(values.data(), 0, bytes);
  const Stream stream(0);
  const Graph graph = recorded(stream, [&] {
    copy_async(y, values, bytes, stream);
    Saxpy::launch(static_cast<int>(count), 2, x.floats(), y.floats(), stream);
    copy_async(values, y, bytes, stream);
  });
  const Instance ready(graph);
  for (int step = 0; step < 3; ++step)
    ready.launch(stream);
  stream.wait();
  const auto* sums = values.floats();
  EXPECT_EQ(std::count(sums, sums + count, 6.0F), static_cast<long>(count));
}

// ---- recording ----

TEST_F(Graphs, StreamsForkAndJoinWhereEventsSay) {
  servers_.serve("kernel:0.005");
  constexpr int n = 64;
  const DeviceMemory x(0, Content(n * sizeof(float), 0));
  const DeviceMemory y(0, Content(n * sizeof(float), 0));
  const auto* from = x.floats();
  auto* to = y.floats();
  const Stream main(0);
  const Stream side(0);
  const Event forked(cudaEventDisableTiming);
  const Event joined(cudaEventDisableTiming);
  cudaStreamCaptureStatus status{};
  const Graph graph = recorded(main, [&] {
    EXPECT_OK(Saxpy::launch(n, 1, from, to, main));
    EXPECT_OK(cudaEventRecord(forked, main));
    EXPECT_OK(cudaStreamIsCapturing(side, &status));
    EXPECT_EQ(status, cudaStreamCaptureStatusNone);
    EXPECT_OK(cudaStreamWaitEvent(side, forked, 0));
    EXPECT_OK(cudaStreamIsCapturing(side, &status));
    EXPECT_EQ(status, cudaStreamCaptureStatusActive);
    EXPECT_OK(Saxpy::launch(n, 1, from, to, side));
    EXPECT_OK(Saxpy::launch(n, 1, from, to, main));
    EXPECT_OK(cudaEventRecord(joined, side));
    EXPECT_OK(cudaStreamWaitEvent(main, joined, 0));
    EXPECT_OK(Saxpy::launch(n, 1, from, to, main));
    EXPECT_EQ(cudaEventQuery(joined), cudaErrorCapturedEvent);
  });
  EXPECT_OK(cudaStreamIsCapturing(side, &status));
  EXPECT_EQ(status, cudaStreamCaptureStatusNone);
  std::size_t nodes = 0;
  std::size_t edges = 0;
  std::size_t roots = 0;
  ASSERT_OK(cudaGraphGetNodes(graph, nullptr, &nodes));
  ASSERT_OK(cudaGraphGetEdges(graph, nullptr, nullptr, nullptr, &edges));
  ASSERT_OK(cudaGraphGetRootNodes(graph, nullptr, &roots));
  EXPECT_EQ(nodes, 4U);
  EXPECT_EQ(edges, 4U);
  EXPECT_EQ(roots, 1U);
  // The events can be used again.
  EXPECT_OK(cudaEventRecord(joined, side));
  EXPECT_OK(cudaEventSynchronize(joined));
}

TEST_F(Graphs, WhatCannotBeRecordedIsSaidAndLosesTheRecording) {
  servers_.serve();
  const DeviceMemory device(0, little_data);
  const Stream stream(0, cudaStreamDefault);
  const Stream other(0, cudaStreamDefault);
  cudaGraph_t graph = nullptr;
  const Event event(cudaEventDisableTiming);
  ASSERT_OK(cudaEventRecord(event, other));
  const auto begin = [&] {
    ASSERT_OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  };
  const auto lost = [&] {
    EXPECT_EQ(cudaMemsetAsync(device, 1, little_data, stream), cudaErrorStreamCaptureInvalidated);
    EXPECT_EQ(cudaStreamEndCapture(stream, &graph), cudaErrorStreamCaptureInvalidated);
    EXPECT_EQ(graph, nullptr);
    EXPECT_OK(cudaMemsetAsync(device, 1, little_data, stream));
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
  EXPECT_EQ(cudaMemset(device, 1, little_data), cudaErrorStreamCaptureImplicit);
  lost();
  begin();
  EXPECT_EQ(cudaStreamWaitEvent(stream, event, 0), cudaErrorStreamCaptureIsolation);
  lost();
  // One stream never joins again.
  begin();
  ASSERT_OK(cudaEventRecord(event, stream));
  ASSERT_OK(cudaStreamWaitEvent(other, event, 0));
  ASSERT_OK(cudaMemsetAsync(device, 1, little_data, other));
  EXPECT_EQ(cudaStreamEndCapture(stream, &graph), cudaErrorStreamCaptureUnjoined);
  EXPECT_OK(cudaStreamSynchronize(stream));
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
  servers_.serve();
  constexpr int n = 64;
  constexpr std::size_t bytes = n * sizeof(float);
  const DeviceMemory x(0, bytes);
  const DeviceMemory y(0, bytes);
  const PinnedMemory sent(bytes);
  const PinnedMemory received(bytes);
  std::fill_n(sent.floats(), n, 1.0F);
  Graph graph = empty_graph();
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
  ASSERT_OK(cudaGraphAddMemsetNode(&zero, graph, nullptr, 0, &memset));
  ASSERT_OK(cudaGraphAddMemcpyNode1D(&up, graph, nullptr, 0, x.data(), sent.data(), bytes,
                                     cudaMemcpyHostToDevice));
  ASSERT_OK(cudaGraphAddEmptyNode(&both, graph, nullptr, 0));
  int count = n;
  float a = 3;
  void* px = x.data();
  void* py = y.data();
  std::array<void*, 4> arguments = {&count, &a, &px, &py};
  cudaKernelNodeParams parameters = saxpy_node(arguments);
  ASSERT_OK(cudaGraphAddKernelNode(&kernel, graph, &both, 1, &parameters));
  cudaMemcpy3DParms back{};
  back.srcPtr = {y.data(), bytes, bytes, 1};
  back.dstPtr = {received.data(), bytes, bytes, 1};
  back.extent = {bytes, 1, 1};
  back.kind = cudaMemcpyDeviceToHost;
  ASSERT_OK(cudaGraphAddMemcpyNode(&down, graph, &kernel, 1, &back));
  const std::array firsts = {zero, up};
  const std::array seconds = {both, both};
  ASSERT_OK(cudaGraphAddDependencies(graph, firsts.data(), seconds.data(), nullptr, 2));
  EXPECT_EQ(cudaGraphAddDependencies(graph, &zero, &zero, nullptr, 1), cudaErrorInvalidValue);
  cudaGraphNodeType type{};
  ASSERT_OK(cudaGraphNodeGetType(down, &type));
  EXPECT_EQ(type, cudaGraphNodeTypeMemcpy);
  const Stream stream(0);
  const Instance ready(graph);
  const auto result = [&] {
    ready.launch(stream);
    stream.wait();
    const auto* values = received.floats();
    EXPECT_EQ(std::count(values, values + n, values[0]), n);
    return values[0];
  };
  EXPECT_EQ(result(), 3);
  // The arguments are those at the node's creation until they are changed.
  a = 5;
  EXPECT_EQ(result(), 3);
  ASSERT_OK(cudaGraphExecKernelNodeSetParams(ready, kernel, &parameters));
  EXPECT_EQ(result(), 5);
  a = 7;
  ASSERT_OK(cudaGraphKernelNodeSetParams(kernel, &parameters));
  EXPECT_EQ(result(), 5);
  cudaGraphExecUpdateResultInfo info{};
  ASSERT_OK(cudaGraphExecUpdate(ready, graph, &info));
  EXPECT_EQ(info.result, cudaGraphExecUpdateSuccess);
  EXPECT_EQ(result(), 7);
  cudaKernelNodeParams told{};
  ASSERT_OK(cudaGraphKernelNodeGetParams(kernel, &told));
  EXPECT_EQ(told.func, parameters.func);
  EXPECT_EQ(*static_cast<float*>(told.kernelParams[1]), 7);
  // Another copy in the same memory, of another size.
  ASSERT_OK(cudaGraphExecMemcpyNodeSetParams1D(ready, up, x.data(), sent.data(), bytes / 2,
                                               cudaMemcpyHostToDevice));
  EXPECT_EQ(result(), 7);
  cudaGraphNode_t more = nullptr;
  ASSERT_OK(cudaGraphAddEmptyNode(&more, graph, &down, 1));
  EXPECT_EQ(cudaGraphExecUpdate(ready, graph, &info), cudaErrorGraphExecUpdateFailure);
  EXPECT_EQ(info.result, cudaGraphExecUpdateErrorTopologyChanged);
  cudaGraph_t gone = graph;
  graph.free();
  EXPECT_EQ(cudaGraphDestroy(gone), cudaErrorInvalidValue);
}

TEST_F(Graphs, WithoutNodesDoNothing) {
  servers_.serve();
  Graph graph = empty_graph();
  const Instance ready(graph);
  ready.launch(nullptr);
  EXPECT_OK(cudaDeviceSynchronize());
}

TEST_F(Graphs, WhoseNodesWaitForOneAnotherInACircleAreRefused) {
  servers_.serve();
  Graph graph = empty_graph();
  cudaGraphNode_t first = nullptr;
  cudaGraphNode_t second = nullptr;
  ASSERT_OK(cudaGraphAddEmptyNode(&first, graph, nullptr, 0));
  ASSERT_OK(cudaGraphAddEmptyNode(&second, graph, &first, 1));
  ASSERT_OK(cudaGraphAddDependencies(graph, &second, &first, nullptr, 1));
  cudaGraphExec_t exec = nullptr;
  EXPECT_EQ(cudaGraphInstantiate(&exec, graph, 0), cudaErrorInvalidValue);
}

// ---- what goes wrong ----

TEST_F(Graphs, MemoryThatIsGoneIsNotReached) {
  servers_.serve();
  const PinnedMemory received(little_data);
  DeviceMemory device(0, little_data);
  const Stream stream(0);
  const Graph graph = recorded(stream, [&] { copy_async(received, device, little_data, stream); });
  const Instance ready(graph);
  ready.launch(stream);
  stream.wait();
  device.free();
  ready.launch(stream);
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaErrorInvalidValue);
  EXPECT_OK(cudaStreamSynchronize(stream));
}

TEST_F(Graphs, ThatADriverCannotMakeReadyAreRefused) {
  ::setenv("GPUCAST_FAKE_FAIL", "cuGraphInstantiateWithFlags:1:2", 1);
  servers_.serve();
  const DeviceMemory device(0, little_data);
  const Stream stream(0);
  const Graph graph = recorded(stream, [&] { cudaMemsetAsync(device, 1, little_data, stream); });
  cudaGraphExec_t exec = nullptr;
  EXPECT_EQ(cudaGraphInstantiate(&exec, graph, 0), cudaErrorMemoryAllocation);
  const Instance ready(graph);
  ready.launch(stream);
  EXPECT_OK(cudaDeviceSynchronize());
  EXPECT_EQ(device.content(), Content(little_data, 1));
}

// ---- several devices ----

TEST_F(Graphs, OfSeveralDevicesKeepTheirOrder) {
  servers_.serve("memset:0.02");
  servers_.serve();
  const DeviceMemory first(0, Content(little_data, 0));
  const DeviceMemory second(1, Content(little_data, 0));
  const Stream main(0);
  const Stream side(1);
  const PinnedMemory between(little_data);
  const PinnedMemory received(little_data);
  ASSERT_OK(cudaSetDevice(0));
  const Event forked(cudaEventDisableTiming);
  ASSERT_OK(cudaSetDevice(1));
  const Event joined(cudaEventDisableTiming);
  // On the first device, then on the second, then on the first again.
  const Graph graph = recorded(main, [&] {
    cudaMemsetAsync(first, 1, little_data, main);
    copy_async(between, first, little_data, main);
    cudaEventRecord(forked, main);
    cudaStreamWaitEvent(side, forked, 0);
    cudaMemsetAsync(second, 2, little_data, side);
    copy_async(received, second, little_data, side);
    cudaEventRecord(joined, side);
    cudaStreamWaitEvent(main, joined, 0);
    cudaMemsetAsync(first, 3, little_data, main);
  });
  const Instance ready(graph);
  for (int step = 0; step < 2; ++step) {
    std::memset(received.data(), 0, little_data);
    ready.launch(main);
    main.wait();
    EXPECT_EQ(between.content(), Content(little_data, 1));
    EXPECT_EQ(received.content(), Content(little_data, 2));
    EXPECT_EQ(first.content(), Content(little_data, 3));
  }
}

}  // namespace
}  // namespace gpucast::remote
