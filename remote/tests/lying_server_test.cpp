// The server's description of the program's kernels is compared with the program's own.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include "tests/client.h"
#include "tests/saxpy.h"

namespace gpucast::remote {
namespace {

TEST(ALyingServer, ThatWouldReadBeyondTheProgramsArgumentsIsGivenUp) {
  const Saxpy saxpy(GPUCAST_TEST_LYING_KERNELS);
  const Servers servers(1);
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
