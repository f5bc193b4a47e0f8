// A client whose server sends what no server would send. Sanitizers find the errors (make
// test-rest); no call hangs, and exactly one line says why the server was given up.
// GPUCAST_FUZZ_MESSAGES=1000000 takes minutes.
#include <gtest/gtest.h>

#include <cstdio>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/common_interface_defs.h>
#endif

#include "client/gpu.h"
#include "client/runtime.h"
#include "tests/lying_server.h"
#include "tests/saxpy.h"
#include "tests/server_process.h"

namespace gpucast::remote {
namespace {

using client::Gpu;

// A sanitizer's report is not part of the captured output.
void report_beside_captured() {
#ifdef __SANITIZE_ADDRESS__
  __sanitizer_set_report_fd(
      reinterpret_cast<void*>(static_cast<std::intptr_t>(::dup(STDERR_FILENO))));
#endif
}

// A program's objects on a GPU, and random calls on them.
class Work {
 public:
  Work() : host_(std::size_t{3} << 20) {
    static const char kernel = 0;
    static char variable = 0;
    binary_.add_kernel(&kernel);
    binary_.add_variable(&variable, "counter", 8);
    kernel_ = client::runtime().program.function(&kernel);
    variable_ = client::runtime().program.variable(&variable);
  }

  // Runs until a call reports that the server is lost, or for a number of calls.
  void run(Gpu& gpu, Noise& noise) {
    constexpr int most_calls = 200;
    for (int k = 0; k < most_calls && !lost_; ++k)
      one(gpu, noise);
  }

 private:
  static constexpr std::size_t small = 1000;
  static constexpr std::size_t large = (std::size_t{2} << 20) + 5;

  void one(Gpu& gpu, Noise& noise) {
    const Status status = client::status_of([&] { call_one(gpu, noise); });
    lost_ = lost_ || status == client::status_lost;
  }

  void call_one(Gpu& gpu, Noise& noise) {
    const Id stream = noise.below(3);
    const EventPair pair{1, 2};
    const std::size_t bytes = noise.one_in(6) ? large : small;
    switch (noise.below(12)) {
      case 0:
        return void(gpu.call(MemInfo{}));
      case 1:
        return void(gpu.call(MemAlloc{.bytes = small}));
      case 2:
        return gpu.copy_to(0x1000, host_.data(), bytes, stream, noise.one_in(2), true);
      case 3:
        return gpu.copy_from(host_.data(), 0x1000, bytes, stream, false);
      case 4:
        return gpu.copy_from(host_.data(), 0x1000, bytes, stream, true);
      case 5:
        return gpu.synchronize();
      case 6:
        return gpu.synchronize_stream(stream);
      case 7:
        gpu.record_event(pair.begin, stream);
        gpu.record_event(pair.end, stream);
        return void(gpu.elapsed(pair));
      case 8:
        return void(gpu.query_stream(stream));
      case 9:
        return void(gpu.modules.kernel(*kernel_));
      case 10:
        return void(gpu.modules.global(*variable_));
      default:
        return noise.one_in(20) ? gpu.reset() : gpu.wait_for_fences();
    }
  }

  FatBinary binary_;
  std::vector<std::byte> host_;
  const client::Function* kernel_ = nullptr;
  const client::Variable* variable_ = nullptr;
  bool lost_ = false;
};

TEST(ALyingServer, WhateverItSaysIsGivenUpWithALine) {
#ifdef __SANITIZE_THREAD__
  // If a copy's answer comes too early, it is written where an earlier copy still reads: this
  // changes only the program's data, which the server decides anyway.
  GTEST_SKIP() << "a lying server makes ThreadSanitizer right about the program's data";
#endif
  give_secret();
  const SecretKeys secret = read_secret(std::getenv("GPUCAST_REMOTE_SECRET_FILE"));
  client::ClientSettings settings;
  settings.credentials = {.security = Security::plain, .secret = secret};
  settings.bulk_connections = 2;
  settings.spin = std::chrono::microseconds(0);
  Noise noise(23);
  constexpr std::size_t most = 200;  // answers per server
  std::size_t answers = 0;
  std::size_t sessions = 0;
  std::size_t refused = 0;
  report_beside_captured();
  testing::internal::CaptureStderr();
  for (; answers < fuzz_messages(); ++sessions) {
    LyingServer server(secret, sessions * 1000, most);
    Work work;  // whose memory copies may read until the connections are closed
    try {
      Gpu gpu(server.endpoint(), settings);
      work.run(gpu, noise);
    } catch (const std::runtime_error&) {
      ++refused;  // when the GPU was opened
    }
    answers += std::max<std::size_t>(server.sent(), 1);
  }
  const std::string lines = testing::internal::GetCapturedStderr();
  const auto lost = static_cast<std::size_t>(std::ranges::count(lines, '\n'));
  EXPECT_LE(lost + refused, sessions);
  EXPECT_GT(lost, sessions / 2);
  for (std::size_t at = 0; at < lines.size(); at = lines.find('\n', at) + 1)
    ASSERT_EQ(lines.compare(at, 16, "gpucast remote: "), 0) << lines.substr(at, 200);
  std::printf("%zu messages in %zu sessions, %zu of them given up, %zu refused at first\n", answers,
              sessions, lost, refused);
}

}  // namespace
}  // namespace gpucast::remote
