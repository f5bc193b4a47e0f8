// Copies between devices over the client: by the servers themselves and through the client. The
// device memory that the servers have mapped shows which path was taken.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

#include "tests/client.h"

namespace gpucast::remote {
namespace {

class DeviceCopies : public OverServers {
 protected:
  void SetUp() override { folder_.use(); }
  void serve_two(const char* delays = nullptr) {
    servers_.serve(delays);
    servers_.serve();
  }
  // The first server is slow.
  void serve_slow_and_fast(const char* delays) {
    servers_.serve(delays);
    servers_.serve("");
  }
  int mappings(std::size_t server) const { return servers_.server(server).mappings(); }

  static void copy_peer(const DeviceMemory& to, const DeviceMemory& from, std::size_t bytes,
                        cudaStream_t stream) {
    EXPECT_OK(cudaMemcpyPeerAsync(to, to.device(), from, from.device(), bytes, stream));
  }

  // Copies in both directions, on the stream of either side and blocking.
  static void copy_in_all_ways(std::size_t bytes, unsigned seed) {
    for (int from = 0; from < 2; ++from) {
      const Content content = pattern(bytes, seed + static_cast<unsigned>(from));
      const DeviceMemory source(from, content);
      for (int on = 0; on < 2; ++on) {
        const DeviceMemory there(1 - from, bytes);
        const Stream stream(on);
        copy_peer(there, source, bytes, stream);
        stream.wait();
        EXPECT_EQ(there.content(), content) << bytes << " bytes from " << from << " on " << on;

        const DeviceMemory again(1 - from, bytes);
        EXPECT_OK(cudaSetDevice(on));
        EXPECT_OK(copy(again, source, bytes));
        EXPECT_EQ(again.content(), content) << bytes << " bytes from " << from << " on " << on;
      }
    }
  }

  OwnFolder folder_;
};

constexpr std::size_t some = 100'000;

TEST_F(DeviceCopies, AreRightInBothDirectionsOnEitherStream) {
  serve_two();
  unsigned seed = 0;
  for (const std::size_t bytes :
       {std::size_t{1}, std::size_t{4097}, some, (std::size_t{20} << 20) + 3})
    copy_in_all_ways(bytes, seed += 2);
}

TEST_F(DeviceCopies, AttachMemoryOnceAndOnlyWhereAStreamNeedsIt) {
  serve_two();
  const Content content = pattern(some, 1);
  const DeviceMemory source(0, content);
  const DeviceMemory destination(1, some);
  EXPECT_EQ(mappings(0), 1);
  EXPECT_EQ(mappings(1), 1);
  const Stream receiving(1);
  for (int k = 0; k < 10; ++k)
    copy_peer(destination, source, some, receiving);
  receiving.wait();
  EXPECT_EQ(mappings(0), 1);
  EXPECT_EQ(mappings(1), 2);
  EXPECT_EQ(destination.content(), content);
  const Stream sending(0);
  copy_peer(destination, source, some, sending);
  sending.wait();
  EXPECT_EQ(mappings(0), 2);
}

TEST_F(DeviceCopies, FindMemoryBehindTheBeginningOfWhatTheDriverMaps) {
  ::setenv("GPUCAST_FAKE_LEAD", "1536", 1);
  serve_two();
  copy_in_all_ways(some, 3);
  const Content content = pattern(some, 5);
  const DeviceMemory source(0, content);
  const DeviceMemory destination(1, some);
  EXPECT_OK(cudaMemcpyPeer(destination.data() + 10, 1, source.data() + 20, 0, 1000));
  EXPECT_TRUE(
      std::equal(content.begin() + 20, content.begin() + 1020, destination.content().begin() + 10));
  EXPECT_EQ(mappings(1), 2);
}

TEST_F(DeviceCopies, OfRowsAreDirectToo) {
  serve_two();
  constexpr std::size_t width = 100;
  constexpr std::size_t height = 37;
  constexpr std::size_t pitch = 256;
  const Content content = pattern(pitch * height, 1);
  const DeviceMemory source(0, content);
  const DeviceMemory dense(1, width * height);
  const DeviceMemory back(0, pitch * height);
  EXPECT_OK(cudaMemset(back, 9, pitch * height));
  EXPECT_OK(cudaMemcpy2D(dense, width, source, pitch, width, height, cudaMemcpyDeviceToDevice));
  EXPECT_OK(cudaMemcpy2D(back, pitch, dense, width, width, height, cudaMemcpyDeviceToDevice));
  const Content got = back.content();
  for (std::size_t k = 0; k < got.size(); ++k)
    ASSERT_EQ(got[k], k % pitch < width ? content[k] : 9) << k;
  EXPECT_EQ(mappings(0), 3);
}

TEST_F(DeviceCopies, FindWhatABlockingCallHasLeftToTheOtherServer) {
  serve_slow_and_fast("copy:0.2,memset:0.2");
  const DeviceMemory source(0, some);
  const DeviceMemory destination(1, some);
  const Stream receiving(1);
  for (unsigned seed = 0; seed < 2; ++seed) {
    const Content content = pattern(some, seed);
    EXPECT_OK(copy(source, content.data(), some));
    copy_peer(destination, source, some, receiving);
    receiving.wait();
    EXPECT_EQ(destination.content(), content);
  }
  EXPECT_OK(cudaMemset(source, 5, some));
  copy_peer(destination, source, some, receiving);
  receiving.wait();
  EXPECT_EQ(destination.content(), Content(some, 5));
}

TEST_F(DeviceCopies, ThatBlockComeAfterTheLegacyStreamsOfBoth) {
  serve_slow_and_fast("memset:0.3");
  for (int from = 0; from < 2; ++from) {
    const DeviceMemory source(from, Content(some, 1));
    const DeviceMemory destination(1 - from, Content(some, 2));
    EXPECT_OK(cudaSetDevice(0));
    const DeviceMemory& of_the_slow = from == 0 ? source : destination;
    EXPECT_OK(cudaMemsetAsync(of_the_slow.data(), 3, some, nullptr));
    EXPECT_OK(cudaSetDevice(1));
    EXPECT_OK(cudaMemcpyPeer(destination, 1 - from, source, from, some));
    EXPECT_EQ(destination.content(), Content(some, from == 0 ? 3 : 1));
  }
}

TEST_F(DeviceCopies, ThatBlockAreDoneForEveryStream) {
  serve_two("copy:0.1");
  for (int on = 0; on < 2; ++on) {
    const DeviceMemory source(0, Content(some, 4));
    const DeviceMemory destination(1, some);
    EXPECT_OK(cudaSetDevice(on));
    EXPECT_OK(cudaMemcpyPeer(destination, 1, source, 0, some));
    const Stream sending(0);
    EXPECT_OK(cudaMemsetAsync(source, 5, some, sending));
    const Stream receiving(1);
    Content got(some);
    EXPECT_OK(copy_async(got.data(), destination, some, receiving));
    receiving.wait();
    EXPECT_EQ(got, Content(some, 4)) << "with device " << on << " set";
  }
}

TEST_F(DeviceCopies, AreOverBeforeTheMemoryIsFreed) {
  serve_two("copy:0.2");
  const DeviceMemory destination(1, some);
  for (unsigned seed = 0; seed < 3; ++seed) {
    const Content content = pattern(some, seed);
    DeviceMemory source(0, content);
    {
      const Stream receiving(1);
      copy_peer(destination, source, some, receiving);
    }  // the stream is destroyed while it is working
    source.free();
    EXPECT_EQ(mappings(1), 1);
    EXPECT_EQ(destination.content(), content);
  }
}

TEST_F(DeviceCopies, GoOnAfterEitherDeviceWasReset) {
  serve_two();
  for (int device = 0; device < 2; ++device) {
    copy_in_all_ways(some, 1);
    const Content content = pattern(some, 7);
    const DeviceMemory source(0, content);
    const DeviceMemory destination(1, some);
    EXPECT_OK(cudaMemcpyPeer(destination, 1, source, 0, some));
    EXPECT_OK(cudaSetDevice(0));
    EXPECT_OK(cudaMemcpyPeer(destination, 1, source, 0, some));
    EXPECT_EQ(mappings(0), 2);
    EXPECT_EQ(mappings(1), 2);
    EXPECT_OK(cudaSetDevice(device));
    EXPECT_OK(cudaDeviceReset());
    EXPECT_EQ(mappings(static_cast<std::size_t>(device)), 0);
    EXPECT_EQ(mappings(static_cast<std::size_t>(1 - device)), 1);
  }
  copy_in_all_ways(some, 2);
}

TEST_F(DeviceCopies, OnAThirdDevicesStreamAreStaged) {
  serve_two();
  servers_.serve();
  const Content content = pattern(some, 1);
  const DeviceMemory source(0, content);
  const DeviceMemory destination(1, some);
  const Stream third(2);
  copy_peer(destination, source, some, third);
  EXPECT_OK(cudaMemcpyPeer(destination, 1, source, 0, some));
  EXPECT_EQ(destination.content(), content);
  EXPECT_EQ(mappings(0) + mappings(1), 2);
}

TEST_F(DeviceCopies, AreStagedWhereADriverRefusesWhichIsAskedForOnce) {
  ::setenv("GPUCAST_FAKE_FAIL", "cuIpcOpenMemHandle:1:217", 1);  // no peer access, the first time
  serve_two();
  for (unsigned seed = 0; seed < 3; ++seed)
    copy_in_all_ways(some, seed);
  const DeviceMemory source(0, some);
  const DeviceMemory destination(1, some);
  EXPECT_OK(cudaMemcpyPeer(destination, 1, source, 0, some));
  EXPECT_EQ(mappings(0) + mappings(1), 2);
}

TEST_F(DeviceCopies, AreStagedBetweenHosts) {
  servers_.serve();
  const OwnFolder other;
  other.use();
  servers_.serve();
  copy_in_all_ways(some, 1);
  const DeviceMemory source(0, some);
  const DeviceMemory destination(1, some);
  EXPECT_OK(cudaMemcpyPeer(destination, 1, source, 0, some));
  EXPECT_EQ(mappings(0) + mappings(1), 2);
}

// If two servers' addresses collide, one has to use memory that cannot be shared.
TEST_F(DeviceCopies, OfMemoryAtAChosenAddressAreStaged) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "ThreadSanitizer has no memory where the client chooses it";
#endif
  ::setenv("GPUCAST_FAKE_BASE", "0x7e9000000000", 1);
  servers_.serve_anywhere();
  servers_.serve_anywhere();
  copy_in_all_ways(some, 1);
  copy_in_all_ways((std::size_t{3} << 20) + 1, 2);
}

TEST_F(DeviceCopies, FromManyThreadsAtOnce) {
  serve_two();
  const Content content = pattern(some, 1);
  const DeviceMemory shared(0, content);
  constexpr unsigned count = 6;
  std::vector<std::thread> threads;
  threads.reserve(count);
  for (unsigned k = 0; k < count; ++k) {
    threads.emplace_back([&shared, &content, k] {
      const int device = static_cast<int>(k % 2);
      for (unsigned step = 0; step < 5; ++step) {
        copy_in_all_ways(step % 2 == 0 ? 1000 : some, k * 10 + step);
        const DeviceMemory own(1, some);
        const Stream stream(device);
        copy_peer(own, shared, some, stream);
        stream.wait();
        EXPECT_EQ(own.content(), content);
      }
    });
  }
  for (std::thread& thread : threads)
    thread.join();
}

}  // namespace
}  // namespace gpucast::remote
