// What a kernel is like: the server is asked once for it, until something may have changed it.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <optional>
#include <utility>

#include "tests/client.h"
#include "tests/saxpy.h"

namespace gpucast::remote {
namespace {

constexpr int some_bytes = 60'000;

// Dynamic shared memory of a kernel that is there; the rest is what the fake driver says.
std::optional<int> dynamic_bytes() {
  cudaFuncAttributes attributes{};
  if (cudaFuncGetAttributes(&attributes, Saxpy::host()) != cudaSuccess) return std::nullopt;
  if (attributes.maxThreadsPerBlock != 1024 || attributes.numRegs != 32) return std::nullopt;
  return attributes.maxDynamicSharedSizeBytes;
}

bool set_dynamic_bytes(int bytes) {
  return cudaFuncSetAttribute(Saxpy::host(), cudaFuncAttributeMaxDynamicSharedMemorySize, bytes) ==
         cudaSuccess;
}

class FunctionAttributesTest : public OverServers {
 protected:
  void SetUp() override {
    ::setenv("GPUCAST_FAKE_KERNELS", GPUCAST_TEST_KERNELS, 1);
    servers_.serve();
    servers_.serve();
  }

  // By a process that does this with a kernel that is loaded: how often the question for its
  // attributes went to a server.
  template <class Work>
  static std::uint64_t round_trips(const Work& work) {
    return Counted("cudaFuncGetAttributes", [&] {
      std::optional<Saxpy> kernel(std::in_place);
      return Saxpy::launch(0, 0, nullptr, nullptr, nullptr) == cudaSuccess &&
             cudaDeviceSynchronize() == cudaSuccess && work(kernel);
    })["round_trips"];
  }
};

TEST_F(FunctionAttributesTest, AreAskedForOnce) {
  EXPECT_EQ(round_trips([](auto&) {
              bool right = true;
              for (int k = 0; k < 100; ++k)
                right = right && dynamic_bytes() == 0;
              return right;
            }),
            1U);
}

TEST_F(FunctionAttributesTest, AreThoseThatWereSet) {
  EXPECT_EQ(round_trips([](auto&) {
              return dynamic_bytes() == 0 && set_dynamic_bytes(some_bytes) &&
                     dynamic_bytes() == some_bytes && dynamic_bytes() == some_bytes &&
                     !set_dynamic_bytes(1 << 30) && dynamic_bytes() == some_bytes;
            }),
            3U);
}

TEST_F(FunctionAttributesTest, AreEachGpusOwn) {
  EXPECT_EQ(round_trips([](auto&) {
              bool right = set_dynamic_bytes(some_bytes) && dynamic_bytes() == some_bytes;
              right = right && cudaSetDevice(1) == cudaSuccess && dynamic_bytes() == 0;
              return right && cudaSetDevice(0) == cudaSuccess && dynamic_bytes() == some_bytes;
            }),
            // The other GPU's loads the kernel, too: modules known, loaded, kernels.
            2U + 3U);
}

TEST_F(FunctionAttributesTest, AreAskedForAnewWhereTheCodeIsLoadedAnew) {
  EXPECT_EQ(round_trips([](auto& kernel) {
              if (dynamic_bytes() != 0) return false;
              kernel.reset();
              kernel.emplace();
              return dynamic_bytes() == 0;
            }),
            2U + 3U);
}

TEST_F(FunctionAttributesTest, AreAskedForAnewAfterAReset) {
  EXPECT_EQ(round_trips([](auto&) {
              return dynamic_bytes() == 0 && cudaDeviceReset() == cudaSuccess &&
                     dynamic_bytes() == 0;
            }),
            2U + 3U);
}

}  // namespace
}  // namespace gpucast::remote
