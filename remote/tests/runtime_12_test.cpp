// The client as programs of CUDA 12 see it: the entry points and layouts that only 12 has. CUDA's
// headers here are those of 13, so that they are declared again.
#include <driver_types.h>
#include <gtest/gtest.h>
#include <vector_types.h>

#include <cstdint>
#include <cstring>

#include "tests/server_process.h"

extern "C" {
cudaError_t cudaRuntimeGetVersion(int* version);
cudaError_t cudaGetDeviceProperties_v2(void* properties, int device);
cudaError_t cudaPointerGetAttributes(void* attributes, const void* address);
cudaError_t cudaMalloc(void** memory, std::size_t bytes);
cudaError_t cudaFree(void* memory);
cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind);
cudaError_t cudaMemset(void* to, int value, std::size_t bytes);
cudaError_t cudaGraphCreate(cudaGraph_t* graph, unsigned flags);
cudaError_t cudaGraphAddEmptyNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                  const cudaGraphNode_t* after, std::size_t count);
cudaError_t cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t* from,
                                     const cudaGraphNode_t* to, std::size_t count);
cudaError_t cudaGraphGetEdges(cudaGraph_t graph, cudaGraphNode_t* from, cudaGraphNode_t* to,
                              std::size_t* count);
int cudaThreadSynchronize();
}

namespace gpucast::remote {
namespace {

class Runtime12 : public testing::Test {
 protected:
  void SetUp() override {
    ::setenv("GPUCAST_REMOTE", server_.address().c_str(), 1);
    ASSERT_EQ(cudaRuntimeGetVersion(&version_), cudaSuccess);
  }
  int version_ = 0;
  ServerProcess server_{0};
};

TEST_F(Runtime12, SaysThatItIs) { EXPECT_EQ(version_ / 1000, 12); }

// Nothing is written beyond the size of 12's structures.
TEST_F(Runtime12, LaysPropertiesAndAttributesOutAsTwelve) {
  constexpr std::size_t size = 1032;
  constexpr std::size_t clock_rate = 348;  // its offset in CUDA 12's header
  std::array<unsigned char, size + 16> properties{};
  std::memset(properties.data(), 0xee, properties.size());
  ASSERT_EQ(cudaGetDeviceProperties_v2(properties.data(), 0), cudaSuccess);
  EXPECT_STREQ(reinterpret_cast<const char*>(properties.data()), "fake GPU 0");
  int clock = 0;
  std::memcpy(&clock, properties.data() + clock_rate, sizeof clock);
  EXPECT_EQ(clock, 1'000'000);
  for (std::size_t k = size; k < properties.size(); ++k)
    EXPECT_EQ(properties.at(k), 0xee);
  void* memory = nullptr;
  ASSERT_EQ(cudaMalloc(&memory, 100), cudaSuccess);
  struct {
    int type = 0;
    int device = 0;
    void* on_device = nullptr;
    void* on_host = nullptr;
    std::array<std::uint64_t, 8> beyond = {7, 7, 7, 7, 7, 7, 7, 7};
  } attributes;
  ASSERT_EQ(cudaPointerGetAttributes(&attributes, memory), cudaSuccess);
  EXPECT_EQ(attributes.type, cudaMemoryTypeDevice);
  EXPECT_EQ(attributes.on_device, memory);
  for (const std::uint64_t value : attributes.beyond)
    EXPECT_EQ(value, 7U);
  EXPECT_EQ(cudaFree(memory), cudaSuccess);
}

TEST_F(Runtime12, TakesEdgesWithoutTheirData) {
  cudaGraph_t graph = nullptr;
  std::array<cudaGraphNode_t, 2> nodes{};
  ASSERT_EQ(cudaGraphCreate(&graph, 0), cudaSuccess);
  for (cudaGraphNode_t& node : nodes)
    ASSERT_EQ(cudaGraphAddEmptyNode(&node, graph, nullptr, 0), cudaSuccess);
  ASSERT_EQ(cudaGraphAddDependencies(graph, nodes.data(), &nodes[1], 1), cudaSuccess);
  std::size_t count = 0;
  ASSERT_EQ(cudaGraphGetEdges(graph, nullptr, nullptr, &count), cudaSuccess);
  EXPECT_EQ(count, 1U);
}

TEST_F(Runtime12, CopiesAndRefusesAsThirteenDoes) {
  std::vector<std::uint8_t> content(5000);
  void* memory = nullptr;
  ASSERT_EQ(cudaMalloc(&memory, content.size()), cudaSuccess);
  ASSERT_EQ(cudaMemset(memory, 3, content.size()), cudaSuccess);
  ASSERT_EQ(cudaMemcpy(content.data(), memory, content.size(), cudaMemcpyDefault), cudaSuccess);
  EXPECT_EQ(content, std::vector<std::uint8_t>(5000, 3));
  EXPECT_EQ(cudaThreadSynchronize(), cudaErrorNotSupported);
}

}  // namespace
}  // namespace gpucast::remote
