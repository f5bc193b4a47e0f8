// Memory of the host that a GPU would have to reach: refused by name, and nothing else is lost.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include "tests/client.h"
#include "tests/saxpy.h"

extern "C" void __cudaRegisterManagedVar(void** handle, void** host, char* device, const char* name,
                                         int ext, std::size_t bytes, int constant, int global);

namespace gpucast::remote {
namespace {

class HostMemory : public OverServers {
 protected:
  void SetUp() override { servers_.serve(); }
  Saxpy saxpy_;
};

TEST_F(HostMemory, PinnedMemoryIsNoArgumentOfAKernel) {
  constexpr int count = 8;
  const DeviceMemory x(0, Content(count * sizeof(float), 0));
  const DeviceMemory y(0, Content(count * sizeof(float), 7));
  const PinnedMemory pinned(count * sizeof(float));
  testing::internal::CaptureStderr();
  EXPECT_EQ(Saxpy::launch(count, 1, x.floats(), pinned.floats() + 1, nullptr),
            cudaErrorNotSupported);
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "gpucast remote: not supported on remote GPUs: pinned host memory as argument 4 of "
            "kernel saxpy\n");
  EXPECT_EQ(cudaGetLastError(), cudaErrorNotSupported);
  // The context goes on as if nothing had been.
  EXPECT_OK(cudaDeviceSynchronize());
  EXPECT_OK(Saxpy::launch(count, 1, x.floats(), y.floats(), nullptr));
  EXPECT_EQ(y.content(), Content(count * sizeof(float), 7));
}

TEST_F(HostMemory, RegisteredMemoryIsNone) {
  const DeviceMemory x(0, 4096);
  Content registered(4096);
  ASSERT_OK(cudaHostRegister(registered.data(), registered.size(), 0));
  EXPECT_EQ(Saxpy::launch(1, 1, reinterpret_cast<float*>(registered.data()), x.floats(), nullptr),
            cudaErrorNotSupported);
  ASSERT_OK(cudaHostUnregister(registered.data()));
  EXPECT_OK(cudaDeviceSynchronize());
}

TEST_F(HostMemory, NorOfAKernelInAGraph) {
  const DeviceMemory x(0, 4096);
  const PinnedMemory pinned(4096);
  const Stream stream(0);
  ASSERT_OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  EXPECT_EQ(Saxpy::launch(1, 1, x.floats(), pinned.floats(), stream), cudaErrorNotSupported);
  cudaGraph_t graph = nullptr;
  cudaStreamEndCapture(stream, &graph);
  EXPECT_OK(cudaDeviceSynchronize());
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
