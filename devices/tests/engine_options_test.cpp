#include "gpucast/devices/engine_options.h"

#include <gtest/gtest.h>

#include <sstream>

namespace gpucast::devices {
namespace {

enum class Engine { host, cuda };

std::unique_ptr<Engine> host(int) { return std::make_unique<Engine>(Engine::host); }
std::unique_ptr<Engine> cuda(std::string&) { return std::make_unique<Engine>(Engine::cuda); }
std::unique_ptr<Engine> no_cuda(std::string& why_not) {
  why_not = "no GPU here";
  return nullptr;
}

class EngineOptionsTest : public testing::Test {
 protected:
  void SetUp() override { ::unsetenv("GPUCAST_REMOTE"); }
  void TearDown() override { ::unsetenv("GPUCAST_REMOTE"); }

  Engine open(const std::string& engine, std::unique_ptr<Engine> (*gpus)(std::string&)) {
    support::CommandLine line("program", "A program.");
    EngineOptions options;
    options.declare(&line);
    std::ostringstream out;
    line.parse({"program", "--engine", engine}, out);
    const support::Context context{
        .program = "program", .command_line = {}, .interrupted = {}, .out = out, .err = err};
    return *options.open<Engine>(context, host, gpus);
  }
  std::string refusal(const std::string& engine, std::unique_ptr<Engine> (*gpus)(std::string&)) {
    try {
      open(engine, gpus);
    } catch (const support::InputError& error) {
      return error.what();
    }
    return "none";
  }

  std::ostringstream err;
};

TEST_F(EngineOptionsTest, CpuThreadsStandForGpusWithANote) {
  EXPECT_EQ(open("auto", no_cuda), Engine::host);
  EXPECT_EQ(err.str(), "program: note: CPU threads stand for GPUs, no GPU here\n");
}

TEST_F(EngineOptionsTest, CpuThreadsNeverStandForServersThatAreNamed) {
  ::setenv("GPUCAST_REMOTE", "node:9700", 1);
  EXPECT_EQ(
      refusal("auto", no_cuda),
      "GPUCAST_REMOTE=node:9700: no GPU here (--engine host computes on this machine's cores)");
}

TEST_F(EngineOptionsTest, AnEmptyVariableAsksForServersToo) {
  ::setenv("GPUCAST_REMOTE", "", 1);
  for (const char* const engine : {"auto", "cuda"}) {
    for (const auto gpus : {cuda, no_cuda}) {
      EXPECT_EQ(refusal(engine, gpus),
                "GPUCAST_REMOTE is set, but empty: name servers (host:port,...), or unset it");
    }
  }
  EXPECT_EQ(open("host", cuda), Engine::host);
}

}  // namespace
}  // namespace gpucast::devices
