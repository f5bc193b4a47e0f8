// The round trips and bytes to the server that starting a program of many modules takes; and
// attributes of kernels: the server is queried once, until something may have changed them.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>

#include "tests/client.h"
#include "tests/saxpy.h"

namespace gpucast::remote {
namespace {

constexpr std::size_t modules_of_program = 60;  // PyTorch has 59

// A PTX module of its own, of some 100 kB, registered like nvcc's.
class OwnModule {
 public:
  explicit OwnModule(std::size_t number) : binary_(code_of(number)) { binary_.add_kernel(&host_); }
  std::size_t bytes() const { return binary_.bytes(); }
  cudaError_t launch() const { return Saxpy::launch(0, 0, nullptr, nullptr, nullptr, &host_); }

 private:
  static std::string code_of(std::size_t number) {
    std::string result;
    while (result.size() < 100'000) {
      result +=
          "add.s32 %r" + std::to_string(number) + ", %r" + std::to_string(result.size()) + ", 1;\n";
    }
    return result;
  }

  FatBinary binary_;
  char host_ = 0;
};

class Start : public OverServers {
 protected:
  void SetUp() override {
    ::setenv("GPUCAST_FAKE_KERNELS", GPUCAST_TEST_KERNELS, 1);
    servers_.serve();
  }

  // Launches one kernel of each module in a separate process.
  static Counted start(std::size_t first = 0) {
    return Counted("cudaLaunchKernel", [&] {
      std::vector<std::unique_ptr<OwnModule>> program;
      program.reserve(modules_of_program);
      for (std::size_t k = 0; k < modules_of_program; ++k)
        program.push_back(std::make_unique<OwnModule>(first + k));
      return cudaDeviceSynchronize() == cudaSuccess &&  // connects
             std::ranges::all_of(
                 program, [](const auto& module) { return module->launch() == cudaSuccess; }) &&
             cudaDeviceSynchronize() == cudaSuccess;
    });
  }

  const std::size_t bytes_ = modules_of_program * OwnModule(0).bytes();
};

TEST_F(Start, TakesTwoRoundTripsAndOneForEachModuleThatIsUsed) {
  const Counted launches = start();
  EXPECT_EQ(launches["round_trips"], 2 + modules_of_program);
  RecordProperty("bytes_sent", std::to_string(launches["bytes_sent"]));
  // On one host packing saves nothing.
  EXPECT_LT(launches["bytes_sent"], over_shared_memory() ? 2 * bytes_ : bytes_ / 4);
}

TEST_F(Start, OfAProgramThatTheServerHasSeenSendsNoCode) {
  start();
  const Counted again = start();
  EXPECT_EQ(again["round_trips"], 2 + modules_of_program);
  EXPECT_LT(again["bytes_sent"], modules_of_program * 300);
  EXPECT_GT(start(1000)["bytes_sent"], bytes_ / 100);
}

TEST_F(Start, LoadsAllAheadOnlyWhereThatIsLittle) {
  std::vector<std::unique_ptr<OwnModule>> more;
  more.reserve(modules_of_program);
  for (std::size_t k = 0; k < modules_of_program; ++k)
    // Twice as many modules, more than 8 MiB.
    more.push_back(std::make_unique<OwnModule>(2000 + k));
  EXPECT_EQ(start()["round_trips"], 4 + modules_of_program);
  ::setenv("CUDA_MODULE_LOADING", "EAGER", 1);
  EXPECT_EQ(start(3000)["round_trips"], 2 + modules_of_program);
}

// ---- attributes of kernels ----

constexpr int some_bytes = 60'000;

// The dynamic shared memory of a loaded kernel; the fake driver supplies the rest.
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

class FunctionAttributesTest : public Start {
 protected:
  void SetUp() override {
    Start::SetUp();
    servers_.serve();
  }

  // Runs the body with a loaded kernel in a separate process; returns how often a server was asked
  // for its attributes.
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
            // The other GPU's server loads the kernel, too: known modules, loaded ones, kernels.
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
