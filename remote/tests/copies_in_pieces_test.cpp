// Copies of all sizes, on every path and however the network splits the data: content and order are
// those of one stream. If a connection dies in the middle, they end with a line.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <ostream>
#include <random>

#include "tests/client.h"
#include "tests/proxy.h"

namespace gpucast::remote {
namespace {

constexpr std::size_t one_kibibyte = 1024;
constexpr std::size_t memory_bytes = 3000 * one_kibibyte;

struct Ways {
  const char* inline_kibibytes;
  const char* channels;
  // Some systems' drivers cannot write words in a stream's order.
  bool words = true;
};
void PrintTo(const Ways& ways, std::ostream* out) {
  *out << "from " << ways.inline_kibibytes << " KiB over " << ways.channels
       << (ways.words ? "" : " without words");
}

// The memory of a GPU and of the program, and the expected contents.
class Memories {
 public:
  Memories() : device_(0, Content(memory_bytes, 0)), on_device_(memory_bytes, 0) {
    for (std::size_t k = 0; k < hosts; ++k) {
      pinned_.push_back(std::make_unique<PinnedMemory>(memory_bytes));
      pageable_.emplace_back(memory_bytes, std::uint8_t{0});
      on_host_[k] = on_host_[hosts + k] = Content(memory_bytes, 0);
      std::fill_n(pinned_[k]->data(), memory_bytes, std::uint8_t{0});
    }
  }

  void copy_one(bool up, std::size_t host, std::size_t to, std::size_t from, std::size_t bytes,
                bool blocking) {
    void* const target = (up ? device_.data() : data(host)) + to;
    const void* const source = (up ? data(host) : device_.data()) + from;
    ASSERT_OK(blocking ? copy(target, source, bytes) : copy_async(target, source, bytes));
    const Content& given = up ? on_host_[host] : on_device_;
    Content& taken = up ? on_device_ : on_host_[host];
    std::copy_n(given.begin() + static_cast<std::ptrdiff_t>(from), bytes,
                taken.begin() + static_cast<std::ptrdiff_t>(to));
  }
  // To be called while no copy is in progress.
  void fill(std::size_t host, std::mt19937& random) {
    std::uint32_t word = 0;
    for (std::size_t k = 0; k < memory_bytes; ++k) {
      if (k % 64 == 0) word = static_cast<std::uint32_t>(random());
      on_host_[host][k] = data(host)[k] = static_cast<std::uint8_t>(word + k);
    }
  }
  void expect_right() {
    for (std::size_t k = 0; k < 2 * hosts; ++k)
      ASSERT_TRUE(std::equal(on_host_[k].begin(), on_host_[k].end(), data(k))) << "memory " << k;
    ASSERT_TRUE(device_.content() == on_device_) << "the device's memory";
  }
  static constexpr std::size_t hosts = 2;  // of each kind

 private:
  std::uint8_t* data(std::size_t host) {
    return host < hosts ? pinned_[host]->data() : pageable_[host - hosts].data();
  }

  DeviceMemory device_;
  std::vector<std::unique_ptr<PinnedMemory>> pinned_;
  std::vector<Content> pageable_;
  Content on_device_;
  std::array<Content, 2 * hosts> on_host_;
};

// Copies of any size, most of them near the limits between paths.
void copy_at_random(unsigned seed, int copies, std::size_t most) {
  std::mt19937 random(seed);
  const std::array sizes = {std::size_t{1},     64 * one_kibibyte,  128 * one_kibibyte,
                            256 * one_kibibyte, 512 * one_kibibyte, 1024 * one_kibibyte,
                            2048 * one_kibibyte};
  Memories memories;
  for (std::size_t k = 0; k < 2 * Memories::hosts; ++k)
    memories.fill(k, random);
  for (int k = 0; k < copies; ++k) {
    std::size_t bytes = sizes.at(random() % sizes.size()) + random() % 3;
    bytes = random() % 4 == 0 ? 1 + random() % most : std::clamp<std::size_t>(bytes - 1, 1, most);
    // The place is often the same, so that one copy's data replaces another's.
    const auto place = [&] { return random() % 2 == 0 ? 0 : random() % (memory_bytes - bytes); };
    memories.copy_one(random() % 2 == 0, random() % (2 * Memories::hosts), place(), place(), bytes,
                      random() % 4 == 0);
    if (testing::Test::HasFatalFailure()) return;
    if (random() % 20 != 0) continue;
    ASSERT_OK(cudaDeviceSynchronize());
    memories.expect_right();
    if (testing::Test::HasFatalFailure()) return;
    memories.fill(random() % (2 * Memories::hosts), random);
  }
  ASSERT_OK(cudaDeviceSynchronize());
  memories.expect_right();
}

class CopiesInPieces : public testing::TestWithParam<Ways> {
 protected:
  void SetUp() override {
    ::setenv("GPUCAST_REMOTE_INLINE_KIB", GetParam().inline_kibibytes, 1);
    ::setenv("GPUCAST_REMOTE_CHANNELS", GetParam().channels, 1);
    if (!GetParam().words) ::setenv("GPUCAST_FAKE_FAIL", "cuStreamWriteValue32:0:801", 1);
    servers_.serve();
  }
  Servers servers_;
};
INSTANTIATE_TEST_SUITE_P(Ways, CopiesInPieces,
                         testing::Values(Ways{"0", "4"}, Ways{"128", "4"}, Ways{"128", "3"},
                                         Ways{"64", "1"}, Ways{"1024", "4"},
                                         Ways{"128", "4", false}),
                         [](const auto& named) {
                           return std::string("From") + named.param.inline_kibibytes + "KiBOver" +
                                  named.param.channels + (named.param.words ? "" : "WithoutWords");
                         });

TEST_P(CopiesInPieces, AreThoseOfOneStream) { copy_at_random(20250104, 300, memory_bytes); }

TEST_P(CopiesInPieces, AreSoWhereTheNetworkTearsThem) {
  if (over_shared_memory()) GTEST_SKIP() << "the network between is what it is about";
  const Proxy proxy(servers_.server(0).address(), 3000);
  ::setenv("GPUCAST_REMOTE", proxy.address().c_str(), 1);
  copy_at_random(20250105, 40, 600 * one_kibibyte);
  EXPECT_OK(cudaDeviceReset());
}

// ---- connections that die ----

struct Death {
  std::size_t connection;  // of the client's connections; control and monitor are the first two
  Proxy::Way way;
  std::size_t behind;  // bytes before the cut
};
void PrintTo(const Death& death, std::ostream* out) {
  *out << "of connection " << death.connection << " behind " << death.behind << " bytes";
}

class AConnectionThatDies : public testing::TestWithParam<Death> {
 protected:
  Servers servers_;
};
INSTANTIATE_TEST_SUITE_P(
    Anywhere, AConnectionThatDies,
    testing::Values(Death{2, Proxy::Way::up, 1000}, Death{3, Proxy::Way::up, 300'000},
                    Death{5, Proxy::Way::up, 900'000}, Death{2, Proxy::Way::down, 1000},
                    Death{4, Proxy::Way::down, 300'000}, Death{5, Proxy::Way::down, 900'000},
                    Death{0, Proxy::Way::up, 5000}, Death{0, Proxy::Way::down, 6000}),
    [](const auto& named) {
      return std::to_string(named.param.connection) +
             (named.param.way == Proxy::Way::up ? "UpBehind" : "DownBehind") +
             std::to_string(named.param.behind);
    });

TEST_P(AConnectionThatDies, EndsAllCallsWithOneLine) {
  if (over_shared_memory()) GTEST_SKIP() << "the network between is what it is about";
  constexpr unsigned patience = 60;  // s
  ::alarm(patience);
  ::setenv("GPUCAST_REMOTE_INLINE_KIB", "128", 1);
  ::setenv("GPUCAST_REMOTE_CHANNELS", "4", 1);
  servers_.serve();
  const auto [connection, way, behind] = GetParam();
  const Proxy proxy(servers_.server(0).address(), std::size_t{64} * one_kibibyte,
                    Proxy::Cut{.connection = connection, .way = way, .behind = behind});
  ::setenv("GPUCAST_REMOTE", proxy.address().c_str(), 1);
  void* device = nullptr;
  ASSERT_OK(cudaMalloc(&device, memory_bytes));
  PinnedMemory pinned(memory_bytes);
  testing::internal::CaptureStderr();
  cudaError_t status = cudaSuccess;
  for (int k = 0; k < 1000 && status == cudaSuccess; ++k) {
    const bool up = k % 2 == 0;
    status = copy_async(up ? device : pinned.data(), up ? pinned.data() : device, memory_bytes);
    if (status == cudaSuccess && k % 3 == 0) status = cudaDeviceSynchronize();
  }
  EXPECT_EQ(status, cudaErrorDevicesUnavailable);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorDevicesUnavailable);
  EXPECT_EQ(copy(device, pinned, memory_bytes), cudaErrorDevicesUnavailable);
  const std::string printed = testing::internal::GetCapturedStderr();
  EXPECT_EQ(printed.find("gpucast remote: lost the GPU server " + proxy.address()), 0U) << printed;
  EXPECT_EQ(std::ranges::count(printed, '\n'), 1) << printed;
  EXPECT_TRUE(proxy.has_cut());
  ::alarm(0);
}

}  // namespace
}  // namespace gpucast::remote
