// What the host finds in its memory, and when: data on its way belongs to the streams that brought
// it, whatever way it takes. Copies take their time on these GPUs.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>

#include "tests/client.h"

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
  ASSERT_EQ(
      cudaMemcpyAsync(between.data(), first.data(), GetParam(), cudaMemcpyDefault, stream.get()),
      cudaSuccess);
  ASSERT_EQ(
      cudaMemcpyAsync(second.data(), between.data(), GetParam(), cudaMemcpyDefault, stream.get()),
      cudaSuccess);
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
  cudaEvent_t event = nullptr;
  ASSERT_EQ(cudaEventCreate(&event), cudaSuccess);
  cudaMemcpyAsync(between.data(), first.data(), GetParam(), cudaMemcpyDefault, brings.get());
  cudaEventRecord(event, brings.get());
  cudaStreamWaitEvent(sends.get(), event, 0);
  cudaMemcpyAsync(second.data(), between.data(), GetParam(), cudaMemcpyDefault, sends.get());
  sends.wait();
  EXPECT_EQ(second.content(), content());
  EXPECT_EQ(cudaEventDestroy(event), cudaSuccess);
}

TEST_P(CopyOrder, AStreamThatWaitedForAnEventHasTheDataOfTheOther) {
  serve();
  const DeviceMemory device(0, content());
  const PinnedMemory pinned(GetParam());
  const Stream brings(0);
  const Stream waits(0);
  cudaEvent_t event = nullptr;
  ASSERT_EQ(cudaEventCreate(&event), cudaSuccess);
  cudaMemcpyAsync(pinned.data(), device.data(), GetParam(), cudaMemcpyDefault, brings.get());
  cudaEventRecord(event, brings.get());
  cudaStreamWaitEvent(waits.get(), event, 0);
  waits.wait();
  EXPECT_EQ(pinned.content(), content());
  EXPECT_EQ(cudaEventDestroy(event), cudaSuccess);
}

TEST_P(CopyOrder, StreamsThatMeetInTheDefaultStreamHaveOneAnothersData) {
  serve();
  const DeviceMemory device(0, content());
  const PinnedMemory pinned(GetParam());
  cudaStream_t brings = nullptr;
  cudaStream_t waits = nullptr;
  ASSERT_EQ(cudaStreamCreate(&brings), cudaSuccess);
  ASSERT_EQ(cudaStreamCreate(&waits), cudaSuccess);
  cudaMemcpyAsync(pinned.data(), device.data(), GetParam(), cudaMemcpyDefault, brings);
  cudaMemsetAsync(device.data(), 0, GetParam(), nullptr);
  EXPECT_EQ(cudaStreamSynchronize(waits), cudaSuccess);
  EXPECT_EQ(pinned.content(), content());
  EXPECT_EQ(cudaStreamDestroy(brings), cudaSuccess);
  EXPECT_EQ(cudaStreamDestroy(waits), cudaSuccess);
}

// As it does natively: it is one of the default stream.
TEST_P(CopyOrder, ABlockingCopyToTheDeviceWaitsForItsStream) {
  serve();
  const DeviceMemory device(0, content());
  const DeviceMemory other(0, 4);
  const PinnedMemory pinned(GetParam());
  cudaMemcpyAsync(pinned.data(), device.data(), GetParam(), cudaMemcpyDefault, nullptr);
  const int value = 5;
  ASSERT_EQ(cudaMemcpy(other.data(), &value, sizeof value, cudaMemcpyDefault), cudaSuccess);
  EXPECT_EQ(pinned.content(), content());
}

TEST_P(CopyOrder, ABlockingCopyFromTheDeviceWaitsForItsStream) {
  serve();
  const DeviceMemory device(0, content());
  const PinnedMemory pinned(GetParam());
  cudaMemcpyAsync(pinned.data(), device.data(), GetParam(), cudaMemcpyDefault, nullptr);
  int value = 0;
  ASSERT_EQ(cudaMemcpy(&value, device.data(), sizeof value, cudaMemcpyDefault), cudaSuccess);
  EXPECT_EQ(pinned.content(), content());
}

TEST_P(CopyOrder, AStreamWithoutWorkIsReadyWhateverOthersBring) {
  serve("memset:1");
  const DeviceMemory device(0, GetParam());
  const PinnedMemory pinned(GetParam());
  cudaStream_t idle = nullptr;
  cudaStream_t busy = nullptr;
  ASSERT_EQ(cudaStreamCreate(&idle), cudaSuccess);
  ASSERT_EQ(cudaStreamCreate(&busy), cudaSuccess);
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  cudaMemsetAsync(device.data(), 1, GetParam(), busy);
  cudaMemcpyAsync(pinned.data(), device.data(), GetParam(), cudaMemcpyDefault, busy);
  EXPECT_EQ(cudaStreamQuery(idle), cudaSuccess);
  EXPECT_EQ(cudaStreamQuery(busy), cudaErrorNotReady);
  // The driver tells of what the GPU itself brings, and this one looks at one stream.
  if (!over_shared_memory()) {
    EXPECT_EQ(cudaStreamQuery(nullptr), cudaErrorNotReady);
  }
  EXPECT_EQ(cudaStreamSynchronize(busy), cudaSuccess);
  EXPECT_EQ(cudaStreamQuery(nullptr), cudaSuccess);
}

// ---- memory of one device, on a stream of another ----

TEST_P(CopyOrder, ACopyOfAnotherDevicesMemoryKeepsItsStreamsOrder) {
  serve();
  serve();
  const DeviceMemory device(1, content());
  const PinnedMemory pinned(GetParam());
  const Stream stream(0);
  ASSERT_EQ(
      cudaMemcpyAsync(pinned.data(), device.data(), GetParam(), cudaMemcpyDefault, stream.get()),
      cudaSuccess);
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
  cudaMemcpyAsync(pinned.data(), device.data(), GetParam(), cudaMemcpyDefault, own.get());
  own.wait();
  EXPECT_EQ(pinned.content(), content());
}

}  // namespace
}  // namespace gpucast::remote
