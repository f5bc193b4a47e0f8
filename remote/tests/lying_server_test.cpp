// What a server says of the program's own kernels is compared with what the program has.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include "tests/client.h"
#include "tests/saxpy.h"

namespace gpucast::remote {
namespace {

TEST(ALyingServer, ThatWouldReadBeyondTheProgramsArgumentsIsGivenUp) {
  const Saxpy saxpy(GPUCAST_TEST_LYING_KERNELS);
  Servers servers;
  servers.serve();
  testing::internal::CaptureStderr();
  EXPECT_EQ(Saxpy::launch(1, 2, nullptr, nullptr, nullptr), cudaErrorDevicesUnavailable);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorDevicesUnavailable);
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "gpucast remote: lost the GPU server " + servers.server(0).address() +
                ": it says that kernel saxpy has other parameters than it has\n");
}

TEST(ALyingServer, ThatHasAVariableOfAnotherSizeIsGivenUp) {
  FatBinary binary;
  char host = 0;
  Servers servers;
  ::setenv("GPUCAST_FAKE_KERNELS", GPUCAST_TEST_KERNELS, 1);
  servers.serve();
  __cudaRegisterVar(binary.handle(), &host, nullptr, "counter", 0, 4, 0, 0);
  void* address = nullptr;
  EXPECT_EQ(cudaGetSymbolAddress(&address, &host), cudaErrorDevicesUnavailable);
}

TEST(ALyingServer, IsNotAskedForKernelsThatTheProgramsCodeDoesNotHave) {
  FatBinary binary;
  static const char host = 0;
  Servers servers;
  ::setenv("GPUCAST_FAKE_KERNELS", GPUCAST_TEST_KERNELS, 1);
  servers.serve();
  __cudaRegisterFunction(binary.handle(), &host, nullptr, "mixed_sum", -1, nullptr, nullptr,
                         nullptr, nullptr, nullptr);
  EXPECT_EQ(cudaLaunchKernel(&host, dim3(1), dim3(1), nullptr, 0, nullptr),
            cudaErrorInvalidKernelImage);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
}

}  // namespace
}  // namespace gpucast::remote
