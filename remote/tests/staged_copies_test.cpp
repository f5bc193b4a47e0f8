// Copies of pageable memory, by many threads at once and of all sizes: over sockets, or through
// memory that client and server share.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

#include "tests/client.h"
#include "tests/pairs.h"

namespace gpucast::remote {
namespace {

class PageableCopies : public OverServers {
 protected:
  // Copies there and back, on a stream of its own or on the default one; returns whether all data
  // came back.
  static bool come_back(std::size_t bytes, unsigned seed) {
    const Content sent = pattern(bytes, seed);
    const DeviceMemory device(0, sent);
    const DeviceMemory other(0, bytes);
    const bool copied = copy(other, device, bytes) == cudaSuccess;
    return copied && other.content() == sent;
  }

  static void come_back_in_threads() {
    constexpr std::size_t count = 6;
    std::array<bool, count> right{};
    std::vector<std::thread> threads;
    threads.reserve(count);
    for (std::size_t k = 0; k < count; ++k) {
      threads.emplace_back([&, k] {
        right.at(k) = true;
        for (unsigned round = 0; round < 4; ++round) {
          const std::size_t bytes = (k + 1) * 1'500'003 + round;
          right.at(k) = right.at(k) && come_back(bytes, static_cast<unsigned>(k) + round);
        }
      });
    }
    for (std::thread& thread : threads)
      thread.join();
    EXPECT_EQ(std::ranges::count(right, true), static_cast<std::ptrdiff_t>(count));
  }
};

TEST_F(PageableCopies, ComeBackWhateverTheirSize) {
  servers_.serve();
  for (const std::size_t bytes : {1U, 32767U, 32768U, 32769U, 65536U, 65537U, 524'287U, 524'289U,
                                  4'194'304U, 4'194'305U, 9'000'001U, 20'000'003U})
    EXPECT_TRUE(come_back(bytes, static_cast<unsigned>(bytes))) << bytes;
}

TEST_F(PageableCopies, ComeBackToManyThreadsAtOnce) {
  servers_.serve();
  come_back_in_threads();
}

TEST_F(PageableCopies, ComeBackToManyThreadsThatWaitForEveryCall) {
  ::setenv("GPUCAST_REMOTE_SYNC", "1", 1);
  servers_.serve();
  come_back_in_threads();
}

TEST_F(PageableCopies, KeepTheOrderOfTheirStream) {
  ::setenv("GPUCAST_FAKE_DELAY", "copy:0.005", 1);
  servers_.serve();
  constexpr std::size_t bytes = 3 << 20;
  const DeviceMemory device(0, bytes);
  for (unsigned k = 0; k < 5; ++k) {
    const Content sent = pattern(bytes, k);
    ASSERT_OK(copy_async(device, sent.data(), bytes));
    const Content changed(bytes, 9);  // the data that was sent may be changed
    EXPECT_EQ(device.content(), sent);
  }
}

TEST_F(PageableCopies, TellOfMemoryThatTheProgramDoesNotHave) {
  servers_.serve();
  constexpr std::size_t bytes = 2 << 20;
  const HalfMemory half(bytes);
  const DeviceMemory device(0, bytes);
  std::byte* const end = half.good().data() + HalfMemory::page;
  EXPECT_EQ(cudaMemcpy(device, end, bytes, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpy(end, device, bytes, cudaMemcpyDeviceToHost), cudaErrorInvalidValue);
  EXPECT_TRUE(come_back(bytes, 5));
}

}  // namespace
}  // namespace gpucast::remote
