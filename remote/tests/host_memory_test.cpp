// Memory of the host that a GPU would have to reach: refused by name, and nothing else is lost.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include "tests/client.h"
#include "tests/saxpy.h"

extern "C" void __cudaRegisterManagedVar(void** handle, void** host, char* device, const char* name,
                                         int ext, std::size_t bytes, int constant, int global);

namespace gpucast::remote {
namespace {

class HostMemory : public testing::Test {
 protected:
  void SetUp() override { servers_.serve(); }

  static float* floats(std::uint8_t* bytes) { return reinterpret_cast<float*>(bytes); }

  Saxpy saxpy_;
  Servers servers_;
};

TEST_F(HostMemory, PinnedMemoryIsNoArgumentOfAKernel) {
  constexpr int count = 8;
  const DeviceMemory x(0, Content(count * sizeof(float), 0));
  const DeviceMemory y(0, Content(count * sizeof(float), 7));
  const PinnedMemory pinned(count * sizeof(float));
  testing::internal::CaptureStderr();
  EXPECT_EQ(Saxpy::launch(count, 1, floats(x.data()), floats(pinned.data()) + 1, nullptr),
            cudaErrorNotSupported);
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "gpucast remote: not supported on remote GPUs: pinned host memory as argument 4 of "
            "kernel saxpy\n");
  EXPECT_EQ(cudaGetLastError(), cudaErrorNotSupported);
  // The context goes on as if nothing had been.
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_EQ(Saxpy::launch(count, 1, floats(x.data()), floats(y.data()), nullptr), cudaSuccess);
  EXPECT_EQ(y.content(), Content(count * sizeof(float), 7));
}

TEST_F(HostMemory, RegisteredMemoryIsNone) {
  const DeviceMemory x(0, 4096);
  Content registered(4096);
  ASSERT_EQ(cudaHostRegister(registered.data(), registered.size(), 0), cudaSuccess);
  EXPECT_EQ(Saxpy::launch(1, 1, floats(registered.data()), floats(x.data()), nullptr),
            cudaErrorNotSupported);
  ASSERT_EQ(cudaHostUnregister(registered.data()), cudaSuccess);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
}

TEST_F(HostMemory, NorOfAKernelInAGraph) {
  const DeviceMemory x(0, 4096);
  const PinnedMemory pinned(4096);
  const Stream stream(0);
  ASSERT_EQ(cudaStreamBeginCapture(stream.get(), cudaStreamCaptureModeThreadLocal), cudaSuccess);
  EXPECT_EQ(Saxpy::launch(1, 1, floats(x.data()), floats(pinned.data()), stream.get()),
            cudaErrorNotSupported);
  cudaGraph_t graph = nullptr;
  cudaStreamEndCapture(stream.get(), &graph);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
}

TEST(ManagedVariables, EndTheProgramWhereItRegistersThem) {
  const FatBinary binary;
  void* host = nullptr;
  EXPECT_EXIT(__cudaRegisterManagedVar(binary.handle(), &host, nullptr, "total", 0, 8, 0, 0),
              testing::ExitedWithCode(2),
              "gpucast remote: .*: not supported on remote GPUs: __managed__ total: ");
}

}  // namespace
}  // namespace gpucast::remote
