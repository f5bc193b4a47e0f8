// Copies of every size at which their way changes arrive as they were sent, and in their stream's
// order.
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

constexpr std::size_t kibibyte = 1024;

class CopySizes : public testing::TestWithParam<std::size_t> {
 protected:
  void serve(const char* delays = "") {
    ::setenv("GPUCAST_FAKE_DELAY", delays, 1);
    servers_.serve();
  }
  static std::size_t bytes() { return GetParam(); }
  static Content pattern(unsigned seed) {
    Content result(bytes());
    for (std::size_t k = 0; k < result.size(); ++k)
      result[k] = static_cast<std::uint8_t>((k * 31 + k / 251 + seed) % 256);
    return result;
  }

  Saxpy saxpy_;
  Servers servers_;
};
INSTANTIATE_TEST_SUITE_P(AroundTheLimits, CopySizes,
                         testing::Values(64 * kibibyte - 1, 64 * kibibyte, 64 * kibibyte + 1,
                                         1024 * kibibyte - 1, 1024 * kibibyte, 1024 * kibibyte + 1),
                         [](const auto& of) { return std::to_string(of.param); });

// And change nothing beside them.
TEST_P(CopySizes, BlockingOnesArriveIntact) {
  serve();
  constexpr std::size_t beside = 64;
  const DeviceMemory device(0, Content(bytes() + 2 * beside, 0x55));
  const Content content = pattern(1);
  ASSERT_EQ(cudaMemcpy(device.data() + beside, content.data(), bytes(), cudaMemcpyDefault),
            cudaSuccess);
  Content expected(bytes() + 2 * beside, 0x55);
  std::ranges::copy(content, expected.begin() + beside);
  EXPECT_EQ(device.content(), expected);
  Content back(bytes() + 2 * beside, 0x33);
  ASSERT_EQ(cudaMemcpy(back.data() + beside, device.data() + beside, bytes(), cudaMemcpyDefault),
            cudaSuccess);
  std::fill_n(expected.begin(), beside, 0x33);
  std::fill_n(expected.end() - beside, beside, 0x33);
  EXPECT_EQ(back, expected);
}

TEST_P(CopySizes, AsynchronousOnesArriveIntactInOrder) {
  serve("copy:0.002");
  constexpr unsigned copies = 6;
  const DeviceMemory device(0, bytes());
  const Stream stream(0);
  std::vector<std::unique_ptr<PinnedMemory>> sent;
  std::vector<std::unique_ptr<PinnedMemory>> back;
  for (unsigned k = 0; k < copies; ++k) {
    sent.push_back(std::make_unique<PinnedMemory>(bytes()));
    back.push_back(std::make_unique<PinnedMemory>(bytes()));
    std::ranges::copy(pattern(k), sent[k]->data());
  }
  for (unsigned k = 0; k < copies; ++k) {
    ASSERT_EQ(
        cudaMemcpyAsync(device.data(), sent[k]->data(), bytes(), cudaMemcpyDefault, stream.get()),
        cudaSuccess);
    ASSERT_EQ(
        cudaMemcpyAsync(back[k]->data(), device.data(), bytes(), cudaMemcpyDefault, stream.get()),
        cudaSuccess);
  }
  stream.wait();
  for (unsigned k = 0; k < copies; ++k)
    EXPECT_EQ(back[k]->content(), pattern(k)) << "copy " << k;
}

TEST_P(CopySizes, KernelsBetweenThemFindWhatIsBeforeAndLeaveWhatIsBehind) {
  serve("kernel:0.005");
  constexpr unsigned steps = 5;
  const std::size_t count = bytes() / sizeof(float);
  const DeviceMemory x(0, bytes());
  const DeviceMemory y(0, bytes());
  const Stream stream(0);
  const auto floats = [](std::uint8_t* memory) { return reinterpret_cast<float*>(memory); };
  std::vector<std::unique_ptr<PinnedMemory>> sent;
  std::vector<std::unique_ptr<PinnedMemory>> back;
  for (unsigned step = 0; step < steps; ++step) {
    sent.push_back(std::make_unique<PinnedMemory>(bytes()));
    back.push_back(std::make_unique<PinnedMemory>(bytes()));
    std::fill_n(floats(sent[step]->data()), count, static_cast<float>(1 + step));
  }
  for (unsigned step = 0; step < steps; ++step) {
    ASSERT_EQ(
        cudaMemcpyAsync(x.data(), sent[step]->data(), bytes(), cudaMemcpyDefault, stream.get()),
        cudaSuccess);
    ASSERT_EQ(cudaMemsetAsync(y.data(), 0, bytes(), stream.get()), cudaSuccess);
    ASSERT_EQ(
        Saxpy::launch(static_cast<int>(count), 2, floats(x.data()), floats(y.data()), stream.get()),
        cudaSuccess);
    ASSERT_EQ(
        cudaMemcpyAsync(back[step]->data(), y.data(), bytes(), cudaMemcpyDefault, stream.get()),
        cudaSuccess);
  }
  stream.wait();
  for (unsigned step = 0; step < steps; ++step) {
    const float* found = floats(back[step]->data());
    EXPECT_EQ(std::count(found, found + count, 2 * static_cast<float>(1 + step)),
              static_cast<std::ptrdiff_t>(count))
        << "step " << step;
  }
}

}  // namespace
}  // namespace gpucast::remote
