#include "call_names.h"

#include <gtest/gtest.h>

namespace gpucast::trace {
namespace {

TEST(CallNames, LeaveOffVersionsAndTheDefaultStreamsMeaning) {
  EXPECT_EQ(plain_name("cudaLaunchKernel_v7000"), "cudaLaunchKernel");
  EXPECT_EQ(plain_name("__cudaLaunchKernel_ptsz_v13000"), "cudaLaunchKernel");
  EXPECT_EQ(plain_name("cudaMemcpyAsync_ptsz_v7000"), "cudaMemcpyAsync");
  EXPECT_EQ(plain_name("cudaMemcpy_ptds_v7000"), "cudaMemcpy");
  EXPECT_EQ(plain_name("cudaStreamGetCaptureInfo_v2_ptsz_v11030"), "cudaStreamGetCaptureInfo");
  EXPECT_EQ(plain_name("cuMemcpyHtoDAsync_v2"), "cuMemcpyHtoDAsync");
  EXPECT_EQ(plain_name("cuMemcpyHtoDAsync_v2_ptsz"), "cuMemcpyHtoDAsync");
}

TEST(CallNames, KeepWhatOnlyLooksLikeAVersion) {
  EXPECT_EQ(plain_name("cuDevice_value"), "cuDevice_value");
  EXPECT_EQ(plain_name("call_v"), "call_v");
  EXPECT_EQ(plain_name(""), "");
}

TEST(CallNames, OnlyCallsOfTheRuntimeThatAskNothingOfAGpuStayOnTheHost) {
  for (const char* name : {"cudaGetLastError", "cudaGetDevice", "__cudaPushCallConfiguration",
                           "cudaThreadExchangeStreamCaptureMode"}) {
    EXPECT_TRUE(stays_on_host(name)) << name;
  }
  for (const char* name : {"cudaLaunchKernel", "cudaEventQuery", "cudaMalloc",
                           "cudaPointerGetAttributes", "cudaFuncGetAttributes", ""}) {
    EXPECT_FALSE(stays_on_host(name)) << name;
  }
}

TEST(CallNames, CallsOfTheDriverGoBeyondTheHostIfTheyMoveOrAllocateOrWait) {
  for (const char* name : {"cuLaunchKernelEx", "cuMemcpyHtoDAsync", "cuMemAlloc", "cuStreamQuery",
                           "cuEventRecordWithFlags", "cuCtxSynchronize", "cuGraphLaunch",
                           "cuModuleLoadData", "cuDevicePrimaryCtxRetain"}) {
    EXPECT_TRUE(goes_beyond_host(name)) << name;
  }
  for (const char* name : {"cuKernelGetName", "cuKernelGetFunction", "cuCtxGetCurrent",
                           "cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags", "cuInit",
                           "cuLibraryGetKernel", "cuMemGetAddressRange", "cuStreamGetCaptureInfo",
                           "cuGraphAddKernelNode", "cuDevicePrimaryCtxGetState", ""}) {
    EXPECT_FALSE(goes_beyond_host(name)) << name;
  }
}

TEST(CallNames, QueriesAskAndDoNotWait) {
  EXPECT_TRUE(is_query("cudaEventQuery"));
  EXPECT_TRUE(is_query("cuStreamQuery"));
  EXPECT_FALSE(is_query("cudaEventSynchronize"));
}

}  // namespace
}  // namespace gpucast::trace
