// When data arrives in host memory: it belongs to the streams that brought it, on any path. Copies
// are slow on these GPUs.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "tests/client.h"
#include "tests/saxpy.h"

namespace gpucast::remote {
namespace {

class DataOrder : public OverSizes {
 protected:
  Content content() const { return Content(GetParam(), 0x77); }
  Content zeros() const { return Content(GetParam(), 0); }
};
class SlowCopies : public DataOrder {
 protected:
  SlowCopies() { servers_.serve("copy:0.1"); }
};
class CopyOrder : public SlowCopies {
 protected:
  const DeviceMemory device_{0, content()};
  const PinnedMemory pinned_{GetParam()};
};
INSTANTIATE_TEST_SUITE_P(Sizes, DataOrder, way_sizes());
INSTANTIATE_TEST_SUITE_P(Sizes, CopyOrder, way_sizes());

TEST_P(CopyOrder, WhatIsSentFromPinnedMemoryIsWhatAnEarlierCopyBrings) {
  const DeviceMemory second(0, zeros());
  const Stream stream(0);
  ASSERT_OK(copy_async(pinned_, device_, GetParam(), stream));
  ASSERT_OK(copy_async(second, pinned_, GetParam(), stream));
  stream.wait();
  EXPECT_EQ(second.content(), content());
}

TEST_P(CopyOrder, AStreamThatWaitsForAnEventSendsWhatTheOtherBrings) {
  const DeviceMemory second(0, zeros());
  const Stream brings(0);
  const Stream sends(0);
  const Event event;
  copy_async(pinned_, device_, GetParam(), brings);
  cudaEventRecord(event, brings);
  cudaStreamWaitEvent(sends, event, 0);
  copy_async(second, pinned_, GetParam(), sends);
  sends.wait();
  EXPECT_EQ(second.content(), content());
}

TEST_P(CopyOrder, AStreamThatWaitedForAnEventHasTheDataOfTheOther) {
  const Stream brings(0);
  const Stream waits(0);
  const Event event;
  copy_async(pinned_, device_, GetParam(), brings);
  cudaEventRecord(event, brings);
  cudaStreamWaitEvent(waits, event, 0);
  waits.wait();
  EXPECT_EQ(pinned_.content(), content());
}

TEST_P(CopyOrder, StreamsThatMeetInTheDefaultStreamHaveOneAnothersData) {
  const Stream brings(0, cudaStreamDefault);
  const Stream waits(0, cudaStreamDefault);
  copy_async(pinned_, device_, GetParam(), brings);
  cudaMemsetAsync(device_, 0, GetParam(), nullptr);
  waits.wait();
  EXPECT_EQ(pinned_.content(), content());
}

// It is part of the default stream, as on a local GPU.
TEST_P(CopyOrder, ABlockingCopyToTheDeviceWaitsForItsStream) {
  const DeviceMemory other(0, 4);
  copy_async(pinned_, device_, GetParam());
  const int value = 5;
  ASSERT_OK(copy(other, &value, sizeof value));
  EXPECT_EQ(pinned_.content(), content());
}

TEST_P(CopyOrder, ABlockingCopyFromTheDeviceWaitsForItsStream) {
  copy_async(pinned_, device_, GetParam());
  int value = 0;
  ASSERT_OK(copy(&value, device_, sizeof value));
  EXPECT_EQ(pinned_.content(), content());
}

TEST_P(DataOrder, AStreamWithoutWorkIsReadyWhateverOthersBring) {
  servers_.serve("memset:1");
  const DeviceMemory device(0, GetParam());
  const PinnedMemory pinned(GetParam());
  const Stream idle(0, cudaStreamDefault);
  const Stream busy(0, cudaStreamDefault);
  ASSERT_OK(cudaDeviceSynchronize());
  cudaMemsetAsync(device, 1, GetParam(), busy);
  copy_async(pinned, device, GetParam(), busy);
  EXPECT_OK(cudaStreamQuery(idle));
  EXPECT_EQ(cudaStreamQuery(busy), cudaErrorNotReady);
  // Copies that the GPU itself writes are known only to the driver, which queries one stream.
  if (!over_shared_memory()) {
    EXPECT_EQ(cudaStreamQuery(nullptr), cudaErrorNotReady);
  }
  busy.wait();
  EXPECT_OK(cudaStreamQuery(nullptr));
}

// ---- memory of one device, on a stream of another ----

TEST_P(DataOrder, ACopyOfAnotherDevicesMemoryKeepsItsStreamsOrder) {
  servers_.serve("copy:0.1");
  servers_.serve("copy:0.1");
  const DeviceMemory device(1, content());
  const PinnedMemory pinned(GetParam());
  const Stream stream(0);
  ASSERT_OK(copy_async(pinned, device, GetParam(), stream));
  stream.wait();
  EXPECT_EQ(pinned.content(), content());
}

TEST_P(DataOrder, AMemsetOfAnotherDevicesMemoryIsDoneWhenItsStreamIs) {
  servers_.serve("memset:0.1");
  servers_.serve("memset:0.1");
  const DeviceMemory device(1, zeros());
  const Stream own(1);
  const PinnedMemory pinned(GetParam());
  const Stream stream(0);
  ASSERT_OK(cudaMemsetAsync(device, 0x77, GetParam(), stream));
  stream.wait();
  ASSERT_OK(cudaSetDevice(1));
  EXPECT_OK(cudaStreamQuery(nullptr));
  copy_async(pinned, device, GetParam(), own);
  own.wait();
  EXPECT_EQ(pinned.content(), content());
}

// ---- kernels between copies of sizes near the limits between paths ----

class KernelsBetweenCopies : public OverServers, public testing::WithParamInterface<std::size_t> {
 protected:
  Saxpy saxpy_;
};
constexpr std::size_t kibibyte = 1024;
INSTANTIATE_TEST_SUITE_P(AroundTheLimits, KernelsBetweenCopies,
                         testing::Values(64 * kibibyte - 1, 64 * kibibyte, 64 * kibibyte + 1,
                                         1024 * kibibyte - 1, 1024 * kibibyte, 1024 * kibibyte + 1),
                         [](const auto& size) { return std::to_string(size.param); });

TEST_P(KernelsBetweenCopies, FindWhatIsBeforeAndLeaveWhatIsBehind) {
  servers_.serve("kernel:0.005");
  constexpr std::size_t steps = 5;
  const std::size_t bytes = GetParam();
  const std::size_t count = bytes / sizeof(float);
  const DeviceMemory x(0, bytes);
  const DeviceMemory y(0, bytes);
  const Stream stream(0);
  std::vector<std::unique_ptr<PinnedMemory>> memory;
  for (std::size_t step = 0; step < steps; ++step) {
    memory.push_back(std::make_unique<PinnedMemory>(bytes));
    std::fill_n(memory[step]->floats(), count, static_cast<float>(1 + step));
  }
  for (const auto& sent_and_back : memory) {
    ASSERT_OK(copy_async(x, *sent_and_back, bytes, stream));
    ASSERT_OK(cudaMemsetAsync(y, 0, bytes, stream));
    ASSERT_OK(Saxpy::launch(static_cast<int>(count), 2, x.floats(), y.floats(), stream));
    ASSERT_OK(copy_async(*sent_and_back, y, bytes, stream));
  }
  stream.wait();
  for (std::size_t step = 0; step < steps; ++step) {
    const float* back = memory[step]->floats();
    EXPECT_EQ(std::count(back, back + count, 2 * static_cast<float>(1 + step)),
              static_cast<std::ptrdiff_t>(count))
        << "step " << step;
  }
}

}  // namespace
}  // namespace gpucast::remote
