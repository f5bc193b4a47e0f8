// Errors are reported once, by the next call that waits; what a program may do after them.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cstring>

#include "tests/client.h"
#include "tests/pairs.h"
#include "tests/saxpy.h"

extern "C" void __cudaRegisterManagedVar(void** handle, void** host, char* device, const char* name,
                                         int ext, std::size_t bytes, int constant, int global);

namespace gpucast::remote {
namespace {

constexpr std::size_t large = std::size_t{4} << 20;

class ClientErrors : public OverSizes {
 protected:
  void serve(const char* failures = "") {
    ::setenv("GPUCAST_FAKE_FAIL", failures, 1);
    servers_.serve();
  }
};
INSTANTIATE_TEST_SUITE_P(Sizes, ClientErrors, way_sizes());

TEST_P(ClientErrors, ABlockingCopyTellsWhatFailedBefore) {
  serve("cuMemsetD2D8Async:1:719");
  const DeviceMemory device(0, GetParam());
  Content host(GetParam());
  ASSERT_OK(cudaMemset2DAsync(device, 64, 1, 64, 8, nullptr));
  EXPECT_EQ(copy(host.data(), device, GetParam()), cudaErrorLaunchFailure);
  EXPECT_OK(cudaDeviceSynchronize());
}

TEST_P(ClientErrors, ABlockingCopyThatFailsIsToldOnce) {
  serve("cuMemcpyDtoHAsync:1:1");
  const DeviceMemory device(0, GetParam());
  Content host(GetParam());
  EXPECT_EQ(copy(host.data(), device, GetParam()), cudaErrorInvalidValue);
  EXPECT_OK(cudaDeviceSynchronize());
}

TEST_P(ClientErrors, AnAsynchronousCopyThatFailsIsToldOnce) {
  serve("cuMemcpyDtoHAsync:1:1");
  const DeviceMemory device(0, GetParam());
  const PinnedMemory pinned(GetParam());
  EXPECT_OK(copy_async(pinned, device, GetParam()));
  EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorInvalidValue);
  EXPECT_OK(cudaDeviceSynchronize());
}

// ---- memory that is not the program's ----

// Addresses of any size at which the program has no memory.
class NoMemory {
 public:
  explicit NoMemory(std::size_t bytes) : half_(bytes) {}
  operator void*() const { return half_.bytes().data() + HalfMemory::page; }

 private:
  HalfMemory half_;
};

TEST_P(ClientErrors, MemoryThatCannotBeReadIsAnInvalidValue) {
  serve();
  const NoMemory none(GetParam());
  const DeviceMemory device(0, GetParam());
  EXPECT_EQ(copy(device, none, GetParam()), cudaErrorInvalidValue);
  EXPECT_OK(cudaDeviceSynchronize());
  const Content content(GetParam(), 3);
  EXPECT_EQ(DeviceMemory(0, content).content(), content);
}

TEST_P(ClientErrors, RegisteredMemoryThatCannotBeReadIsToldBySomeCall) {
  serve();
  const NoMemory none(GetParam());
  const DeviceMemory device(0, GetParam());
  ASSERT_OK(cudaHostRegister(none, GetParam(), 0));
  const cudaError_t at_once = copy_async(device, none, GetParam());
  EXPECT_OK(cudaHostUnregister(none));  // waits for it
  const cudaError_t then = cudaDeviceSynchronize();
  EXPECT_EQ(at_once != cudaSuccess ? at_once : then, cudaErrorInvalidValue);
  EXPECT_OK(cudaDeviceSynchronize());
}

TEST(ClientErrorsOfLargeCopies, MemoryThatCannotBeWrittenIsAnInvalidValue) {
  const Servers servers(1);
  const NoMemory none(large);
  const Content content(large, 3);
  const DeviceMemory device(0, content);
  EXPECT_EQ(copy(none, device, large), cudaErrorInvalidValue);
  EXPECT_OK(cudaDeviceSynchronize());
  EXPECT_EQ(device.content(), content);
}

// ---- sizes ----

TEST(Sizes, ThatNoMemoryHasAreRefused) {
  const Servers servers(1);
  void* memory = nullptr;
  std::size_t pitch = 0;
  EXPECT_EQ(cudaMallocPitch(&memory, &pitch, std::size_t{1} << 40, std::size_t{1} << 24),
            cudaErrorMemoryAllocation);
  EXPECT_EQ(cudaMallocPitch(&memory, &pitch, ~std::size_t{0} - 5, 1), cudaErrorMemoryAllocation);
  EXPECT_EQ(cudaMallocPitch(&memory, &pitch, (std::size_t{1} << 63) + 512, 2),
            cudaErrorMemoryAllocation);
  const DeviceMemory device(0, 4096);
  const Content host(4096);
  EXPECT_EQ(cudaMemset2D(device, std::size_t{1} << 62, 1, 64, 5), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpy2D(device, std::size_t{1} << 62, host.data(), 64, 64, 5, cudaMemcpyDefault),
            cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpy2D(device, 64, host.data(), std::size_t{1} << 62, 64, 5, cudaMemcpyDefault),
            cudaErrorInvalidValue);
}

// ---- registered memory ----

TEST(RegisteredMemory, IsNotRegisteredTwiceAndKnowsItsFlags) {
  const Servers servers(1);
  Content host(10'000);
  ASSERT_OK(cudaHostRegister(&host[1000], 1000, cudaHostRegisterPortable));
  EXPECT_EQ(cudaHostRegister(&host[1999], 1000, 0), cudaErrorHostMemoryAlreadyRegistered);
  EXPECT_EQ(cudaHostRegister(host.data(), 1001, 0), cudaErrorHostMemoryAlreadyRegistered);
  EXPECT_EQ(cudaHostRegister(host.data(), 10'000, 0), cudaErrorHostMemoryAlreadyRegistered);
  EXPECT_OK(cudaHostRegister(host.data(), 1000, 0));
  EXPECT_EQ(cudaHostRegister(&host[2000], 1000, 1U << 20U), cudaErrorInvalidValue);
  unsigned flags = 0;
  EXPECT_OK(cudaHostGetFlags(&flags, &host[1500]));
  EXPECT_EQ(flags, cudaHostRegisterPortable);
  EXPECT_OK(cudaHostUnregister(&host[1000]));
  EXPECT_OK(cudaHostUnregister(host.data()));
}

// Memory may only be written later if all of it is pinned.
TEST(RegisteredMemory, HasToHoldTheWholeCopy) {
  Servers servers;
  ::setenv("GPUCAST_FAKE_DELAY", "memset:0.1", 1);
  servers.serve();
  Content host(8192);
  ASSERT_OK(cudaHostRegister(host.data(), 4096, 0));
  const DeviceMemory device(0, 8192);
  ASSERT_OK(cudaMemsetAsync(device, 7, 8192, nullptr));
  ASSERT_OK(copy_async(host.data(), device, 8192));
  EXPECT_EQ(host, Content(8192, 7));
  EXPECT_OK(cudaHostUnregister(host.data()));
}

// ---- host memory that a GPU would have to reach is refused with its name, and nothing ends ----

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
  // The context is still usable.
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

// ---- the server's description of the program's kernels is compared with the program's own ----

TEST(ALyingServer, ThatWouldReadBeyondTheProgramsArgumentsIsGivenUp) {
  const Saxpy saxpy(GPUCAST_TEST_LYING_KERNELS);
  const Servers servers(1);
  testing::internal::CaptureStderr();
  EXPECT_EQ(Saxpy::launch(1, 2, nullptr, nullptr, nullptr), cudaErrorDevicesUnavailable);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorDevicesUnavailable);
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "gpucast remote: lost the GPU server " + servers.server(0).address() +
                ": it claims other parameters for kernel saxpy than it has\n");
}

TEST(ALyingServer, ThatHasAVariableOfAnotherSizeIsGivenUp) {
  FatBinary binary;
  char host = 0;
  Servers servers;
  ::setenv("GPUCAST_FAKE_KERNELS", GPUCAST_TEST_KERNELS, 1);
  servers.serve();
  binary.add_variable(&host, "counter", 4);
  void* address = nullptr;
  EXPECT_EQ(cudaGetSymbolAddress(&address, &host), cudaErrorDevicesUnavailable);
}

TEST(ALyingServer, IsNotAskedForKernelsThatTheProgramsCodeDoesNotHave) {
  FatBinary binary;
  static const char host = 0;
  Servers servers;
  ::setenv("GPUCAST_FAKE_KERNELS", GPUCAST_TEST_KERNELS, 1);
  servers.serve();
  binary.add_kernel(&host, "mixed_sum");
  EXPECT_EQ(cudaLaunchKernel(&host, dim3(1), dim3(1), nullptr, 0, nullptr),
            cudaErrorInvalidKernelImage);
  EXPECT_OK(cudaDeviceSynchronize());
}

}  // namespace
}  // namespace gpucast::remote
