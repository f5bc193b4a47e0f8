#include "phases.h"

#include <gtest/gtest.h>

#include <vector>

#include "call_names.h"

namespace gpucast::trace {
namespace {

using std::chrono::milliseconds;

TEST(Phases, BeginWithAFullOneThatLastsUntilTheGpuWasAskedForSomething) {
  const Phases phases(milliseconds(50), milliseconds(1000));
  EXPECT_TRUE(phases.full());
  EXPECT_EQ(phases.left(milliseconds(1010)), milliseconds(40));
  EXPECT_FALSE(phases.over(milliseconds(1049), 9));
  EXPECT_FALSE(phases.over(milliseconds(5000), 0));
  EXPECT_TRUE(phases.over(milliseconds(1050), 1));
}

TEST(Phases, AreThreeTimesAsLongWhenLightAndDoubleFromPairToPair) {
  Phases phases(milliseconds(50), milliseconds(0));
  std::vector<long> lengths;
  std::vector<bool> full;
  for (int phase = 0; phase < 6; ++phase) {
    lengths.push_back(phases.length() / milliseconds(1));
    full.push_back(phases.full());
    phases.next(milliseconds(0), 0);
  }
  EXPECT_EQ(lengths, (std::vector<long>{50, 150, 100, 300, 200, 600}));
  EXPECT_EQ(full, (std::vector<bool>{true, false, true, false, true, false}));
}

TEST(Phases, CountFromTheirOwnBegin) {
  Phases phases(milliseconds(50), milliseconds(0));
  phases.next(milliseconds(70), 100);
  EXPECT_FALSE(phases.over(milliseconds(219), 100));
  EXPECT_TRUE(phases.over(milliseconds(220), 100));
  phases.next(milliseconds(230), 100);
  EXPECT_FALSE(phases.over(milliseconds(400), 100));  // no new work: the program is idle
  EXPECT_TRUE(phases.over(milliseconds(400), 101));
}

TEST(Phases, MayBeginAgain) {
  Phases phases(milliseconds(50), milliseconds(0));
  phases.again(milliseconds(40), 7);
  EXPECT_TRUE(phases.full());
  EXPECT_EQ(phases.left(milliseconds(40)), milliseconds(50));
  EXPECT_FALSE(phases.over(milliseconds(90), 7));
  EXPECT_TRUE(phases.over(milliseconds(90), 8));
}

TEST(Phases, MayBeginWithALightOne) {
  Phases phases(milliseconds(1), milliseconds(0), 1000, false);
  EXPECT_FALSE(phases.full());
  EXPECT_EQ(phases.length(), milliseconds(1000));
}

TEST(Phases, NeverEndWithoutALength) {
  const Phases phases(milliseconds(0), milliseconds(0));
  EXPECT_FALSE(phases.over(std::chrono::hours(24), 1'000'000));
  EXPECT_GT(phases.left(std::chrono::hours(24)), std::chrono::hours(24));
}

// ---- names of calls ----

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
