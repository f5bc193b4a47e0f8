// What it takes to start a program of many modules: round trips, and bytes that go to
// the server.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <cstring>
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
  explicit OwnModule(std::size_t number) {
    std::string ptx =
        ".visible .entry saxpy(.param .s32 n, .param .f32 a, .param .u64 x, .param .u64 y) {\n";
    while (ptx.size() < 100'000)
      ptx += "add.s32 %r" + std::to_string(number) + ", %r" + std::to_string(ptx.size()) + ", 1;\n";
    ptx += "}\n";
    const std::array<std::uint64_t, 10> head = {0x0010'0001'ba55'ed50, 64 + ptx.size(),
                                                0x0000'0040'0101'0001, ptx.size()};
    image_.resize(sizeof head);
    std::memcpy(image_.data(), head.data(), sizeof head);
    image_ += ptx;
    wrapper_.image = image_.data();
    handle_ = __cudaRegisterFatBinary(&wrapper_);
    __cudaRegisterFunction(handle_, &host_, nullptr, "saxpy", -1, nullptr, nullptr, nullptr,
                           nullptr, nullptr);
  }
  ~OwnModule() { __cudaUnregisterFatBinary(handle_); }
  OwnModule(const OwnModule&) = delete;
  OwnModule& operator=(const OwnModule&) = delete;

  std::size_t bytes() const { return image_.size(); }
  cudaError_t launch() const {
    int n = 0;
    float a = 0;
    void* none = nullptr;
    std::array<void*, 4> arguments = {&n, &a, static_cast<void*>(&none), static_cast<void*>(&none)};
    return cudaLaunchKernel(&host_, dim3(1), dim3(1), arguments.data(), 0, nullptr);
  }

 private:
  struct {
    std::uint32_t magic = 0x466243b1;
    std::uint32_t version = 1;
    const void* image = nullptr;
    const void* names = nullptr;
  } wrapper_;
  std::string image_;
  char host_ = 0;
  void** handle_ = nullptr;
};

class Start : public testing::Test {
 protected:
  Start() { ::setenv("GPUCAST_FAKE_KERNELS", GPUCAST_TEST_KERNELS, 1); }

  // Launches in a process of their own: one kernel of each module.
  void start(std::size_t first = 0) const {
    counted_.run([&] {
      std::vector<std::unique_ptr<OwnModule>> program;
      program.reserve(modules_of_program);
      for (std::size_t k = 0; k < modules_of_program; ++k)
        program.push_back(std::make_unique<OwnModule>(first + k));
      bool right = cudaDeviceSynchronize() == cudaSuccess;  // which connects
      for (const auto& module : program)
        right = right && module->launch() == cudaSuccess;
      return right && cudaDeviceSynchronize() == cudaSuccess;
    });
  }
  std::uint64_t round_trips() const { return counted_.number("cudaLaunchKernel", "round_trips"); }
  std::uint64_t bytes_sent() const { return counted_.number("cudaLaunchKernel", "bytes_sent"); }

  Counted counted_;
  Servers servers_;
  const std::size_t bytes_ = modules_of_program * OwnModule(0).bytes();
};

TEST_F(Start, TakesTwoRoundTripsAndOneForEachModuleThatIsUsed) {
  servers_.serve();
  start();
  EXPECT_EQ(round_trips(), 2 + modules_of_program);
  RecordProperty("bytes_sent", std::to_string(bytes_sent()));
  // On one host nothing is won by packing.
  EXPECT_LT(bytes_sent(), over_shared_memory() ? 2 * bytes_ : bytes_ / 4);
}

TEST_F(Start, OfAProgramThatTheServerHasSeenSendsNoCode) {
  servers_.serve();
  start();
  start();
  EXPECT_EQ(round_trips(), 2 + modules_of_program);
  EXPECT_LT(bytes_sent(), modules_of_program * 300);
  start(1000);
  EXPECT_GT(bytes_sent(), bytes_ / 100);
}

TEST_F(Start, LoadsAllAheadOnlyWhereThatIsLittle) {
  servers_.serve();
  {
    std::vector<std::unique_ptr<OwnModule>> more;
    more.reserve(modules_of_program);
    for (std::size_t k = 0; k < modules_of_program; ++k)
      more.push_back(std::make_unique<OwnModule>(2000 + k));  // twice the program, beyond 8 MiB
    start();
    EXPECT_EQ(round_trips(), 4 + modules_of_program);
    ::setenv("CUDA_MODULE_LOADING", "EAGER", 1);
    start(3000);
    EXPECT_EQ(round_trips(), 2 + modules_of_program);
  }
}

}  // namespace
}  // namespace gpucast::remote
