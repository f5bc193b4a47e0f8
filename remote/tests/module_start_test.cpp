// What it takes to start a program of many modules: round trips, and bytes that go to
// the server.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "tests/client.h"
#include "tests/saxpy.h"

namespace gpucast::remote {
namespace {

constexpr std::size_t modules_of_program = 60;  // PyTorch has 59

// PTX of its own, of some 100 kB, as nvcc registers it.
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

  // Launches in a process of their own: one kernel of each module.
  static Counted start(std::size_t first = 0) {
    return Counted("cudaLaunchKernel", [&] {
      std::vector<std::unique_ptr<OwnModule>> program;
      program.reserve(modules_of_program);
      for (std::size_t k = 0; k < modules_of_program; ++k)
        program.push_back(std::make_unique<OwnModule>(first + k));
      return cudaDeviceSynchronize() == cudaSuccess &&  // which connects
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
  // On one host nothing is won by packing.
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
    more.push_back(std::make_unique<OwnModule>(2000 + k));  // twice the program, beyond 8 MiB
  EXPECT_EQ(start()["round_trips"], 4 + modules_of_program);
  ::setenv("CUDA_MODULE_LOADING", "EAGER", 1);
  EXPECT_EQ(start(3000)["round_trips"], 2 + modules_of_program);
}

}  // namespace
}  // namespace gpucast::remote
