// What the host finds in its memory, and when: data on its way belongs to the streams that brought
// it, whatever way it takes. Copies take their time on these GPUs.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "tests/client.h"
#include "tests/saxpy.h"

namespace gpucast::remote {
namespace {

// Sizes that travel within their message, from either kind of staging, and one that does not.
class CopyOrder : public testing::TestWithParam<std::size_t> {
 protected:
  void serve(const char* delays = "copy:0.1") {
    ::setenv("GPUCAST_FAKE_DELAY", delays, 1);
    servers_.serve();
  }
  Content content() const { return Content(GetParam(), 0x77); }
  Content zeros() const { return Content(GetParam(), 0); }

  Servers servers_;
};
INSTANTIATE_TEST_SUITE_P(Sizes, CopyOrder, testing::Values(4096, 300'000, std::size_t{4} << 20));

TEST_P(CopyOrder, WhatIsSentFromPinnedMemoryIsWhatAnEarlierCopyBrings) {
  serve();
  const DeviceMemory first(0, content());
  const DeviceMemory second(0, zeros());
  const PinnedMemory between(GetParam());
  const Stream stream(0);
  copy(between.data(), first.data(), GetParam(), stream.get());
  copy(second.data(), between.data(), GetParam(), stream.get());
  stream.wait();
  EXPECT_EQ(second.content(), content());
}

TEST_P(CopyOrder, AStreamThatWaitsForAnEventSendsWhatTheOtherBrings) {
  serve();
  const DeviceMemory first(0, content());
  const DeviceMemory second(0, zeros());
  const PinnedMemory between(GetParam());
  const Stream brings(0);
  const Stream sends(0);
  const Event event;
  copy(between.data(), first.data(), GetParam(), brings.get());
  event.record(brings.get());
  cudaStreamWaitEvent(sends.get(), event.get(), 0);
  copy(second.data(), between.data(), GetParam(), sends.get());
  sends.wait();
  EXPECT_EQ(second.content(), content());
}

TEST_P(CopyOrder, AStreamThatWaitedForAnEventHasTheDataOfTheOther) {
  serve();
  const DeviceMemory device(0, content());
  const PinnedMemory pinned(GetParam());
  const Stream brings(0);
  const Stream waits(0);
  const Event event;
  copy(pinned.data(), device.data(), GetParam(), brings.get());
  event.record(brings.get());
  cudaStreamWaitEvent(waits.get(), event.get(), 0);
  waits.wait();
  EXPECT_EQ(pinned.content(), content());
}

TEST_P(CopyOrder, StreamsThatMeetInTheDefaultStreamHaveOneAnothersData) {
  serve();
  const DeviceMemory device(0, content());
  const PinnedMemory pinned(GetParam());
  const Stream brings(0, cudaStreamDefault);
  const Stream waits(0, cudaStreamDefault);
  copy(pinned.data(), device.data(), GetParam(), brings.get());
  cudaMemsetAsync(device.data(), 0, GetParam(), nullptr);
  waits.wait();
  EXPECT_EQ(pinned.content(), content());
}

// As it does natively: it is one of the default stream.
TEST_P(CopyOrder, ABlockingCopyToTheDeviceWaitsForItsStream) {
  serve();
  const DeviceMemory device(0, content());
  const DeviceMemory other(0, 4);
  const PinnedMemory pinned(GetParam());
  copy(pinned.data(), device.data(), GetParam(), nullptr);
  const int value = 5;
  copy(other.data(), &value, sizeof value);
  EXPECT_EQ(pinned.content(), content());
}

TEST_P(CopyOrder, ABlockingCopyFromTheDeviceWaitsForItsStream) {
  serve();
  const DeviceMemory device(0, content());
  const PinnedMemory pinned(GetParam());
  copy(pinned.data(), device.data(), GetParam(), nullptr);
  int value = 0;
  copy(&value, device.data(), sizeof value);
  EXPECT_EQ(pinned.content(), content());
}

TEST_P(CopyOrder, AStreamWithoutWorkIsReadyWhateverOthersBring) {
  serve("memset:1");
  const DeviceMemory device(0, GetParam());
  const PinnedMemory pinned(GetParam());
  const Stream idle(0, cudaStreamDefault);
  const Stream busy(0, cudaStreamDefault);
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  cudaMemsetAsync(device.data(), 1, GetParam(), busy.get());
  copy(pinned.data(), device.data(), GetParam(), busy.get());
  EXPECT_EQ(cudaStreamQuery(idle.get()), cudaSuccess);
  EXPECT_EQ(cudaStreamQuery(busy.get()), cudaErrorNotReady);
  // The driver tells of what the GPU itself brings, and this one looks at one stream.
  if (!over_shared_memory()) {
    EXPECT_EQ(cudaStreamQuery(nullptr), cudaErrorNotReady);
  }
  busy.wait();
  EXPECT_EQ(cudaStreamQuery(nullptr), cudaSuccess);
}

TEST_P(CopyOrder, KernelsBetweenCopiesFindWhatIsBeforeAndLeaveWhatIsBehind) {
  const Saxpy saxpy;
  serve("kernel:0.005");
  constexpr unsigned steps = 5;
  const std::size_t bytes = GetParam();
  const std::size_t count = bytes / sizeof(float);
  const DeviceMemory x(0, bytes);
  const DeviceMemory y(0, bytes);
  const PinnedMemory sent(steps * bytes);
  const PinnedMemory back(steps * bytes);
  const Stream stream(0);
  const auto floats = [](std::uint8_t* memory) { return reinterpret_cast<float*>(memory); };
  for (unsigned step = 0; step < steps; ++step)
    std::fill_n(floats(sent.data() + step * bytes), count, static_cast<float>(1 + step));
  for (unsigned step = 0; step < steps; ++step) {
    copy(x.data(), sent.data() + step * bytes, bytes, stream.get());
    EXPECT_EQ(cudaMemsetAsync(y.data(), 0, bytes, stream.get()), cudaSuccess);
    EXPECT_EQ(
        Saxpy::launch(static_cast<int>(count), 2, floats(x.data()), floats(y.data()), stream.get()),
        cudaSuccess);
    copy(back.data() + step * bytes, y.data(), bytes, stream.get());
  }
  stream.wait();
  for (unsigned step = 0; step < steps; ++step) {
    const float* results = floats(back.data() + step * bytes);
    EXPECT_EQ(std::count(results, results + count, 2 * static_cast<float>(1 + step)),
              static_cast<std::ptrdiff_t>(count))
        << "step " << step;
  }
}

// ---- memory of one device, on a stream of another ----

TEST_P(CopyOrder, ACopyOfAnotherDevicesMemoryKeepsItsStreamsOrder) {
  serve();
  serve();
  const DeviceMemory device(1, content());
  const PinnedMemory pinned(GetParam());
  const Stream stream(0);
  copy(pinned.data(), device.data(), GetParam(), stream.get());
  stream.wait();
  EXPECT_EQ(pinned.content(), content());
}

TEST_P(CopyOrder, AMemsetOfAnotherDevicesMemoryIsDoneWhenItsStreamIs) {
  serve("memset:0.1");
  serve("memset:0.1");
  const DeviceMemory device(1, zeros());
  const Stream own(1);
  const PinnedMemory pinned(GetParam());
  const Stream stream(0);
  ASSERT_EQ(cudaMemsetAsync(device.data(), 0x77, GetParam(), stream.get()), cudaSuccess);
  stream.wait();
  ASSERT_EQ(cudaSetDevice(1), cudaSuccess);
  EXPECT_EQ(cudaStreamQuery(nullptr), cudaSuccess);
  copy(pinned.data(), device.data(), GetParam(), own.get());
  own.wait();
  EXPECT_EQ(pinned.content(), content());
}

}  // namespace
}  // namespace gpucast::remote
