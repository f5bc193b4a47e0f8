// Files of calls, and steps made from them.

#include <gtest/gtest.h>

#include <initializer_list>
#include <mutex>
#include <numeric>
#include <sstream>
#include <string_view>

#include "engine/engine.h"

namespace gpucast::microbench {
namespace {

constexpr std::string_view head =
    R"({"schema":"gpucast.calls/1","steps":2,"threads":1,"devices":1,)"
    R"("streams":[{"device":0,"flags":3}],"events":1})";
constexpr std::string_view launch =
    R"({"thread":0,"gap":1e-6,"operation":"launch","device":0,"stream":0,"busy":3e-6,"step":0})";

TracedProgram read(std::initializer_list<std::string_view> lines) {
  std::stringstream file;
  for (const auto line : lines)
    file << line << '\n';
  return read_calls(file, "step.jsonl");
}

std::string refused(std::initializer_list<std::string_view> lines) {
  try {
    read(lines);
  } catch (const support::InputError& error) {
    return error.what();
  }
  return "";
}

TEST(Calls, SayWhatWasAsked) {
  const auto program = read(
      {head, launch,
       R"({"thread":0,"gap":0,"operation":"copy","direction":"d2h","bytes":4,"memory":"pageable",)"
       R"("blocking":true,"device":0,"stream":0,"event":null,"busy":2e-6,"step":1,"cost":5e-6})"});
  EXPECT_EQ(program.steps, 2);
  ASSERT_EQ(program.streams.size(), 1U);
  EXPECT_EQ(program.streams[0].kind, StreamKind::legacy);
  ASSERT_EQ(program.calls.size(), 2U);
  EXPECT_EQ(program.calls[0].operation, Operation::launch);
  EXPECT_DOUBLE_EQ(program.calls[0].busy, 3e-6);
  const TracedCall& copy = program.calls[1];
  EXPECT_EQ(copy.direction, Direction::d2h);
  EXPECT_EQ(copy.bytes, 4);
  EXPECT_TRUE(copy.blocking);
  EXPECT_FALSE(copy.pinned);
  EXPECT_EQ(copy.event, TracedCall::none);
  EXPECT_EQ(copy.step, 1);
}

TEST(Calls, AreRefusedInALine) {
  EXPECT_EQ(refused({}), "step.jsonl: is empty, or cannot be read");
  EXPECT_EQ(refused({"[]"}), "step.jsonl: line 1: is no JSON object");
  EXPECT_EQ(refused({head}), "step.jsonl: holds no calls");
  EXPECT_EQ(refused({R"({"schema":"gpucast.calls/2"})"}),
            "step.jsonl: line 1: schema: is not gpucast.calls/1");
  EXPECT_EQ(refused({head, "{}"}), "step.jsonl: line 2: operation: is missing");
  EXPECT_EQ(refused({head, launch, R"({"operation":"fly"})"}).substr(0, 52),
            "step.jsonl: line 3: operation: \"fly\" is none of laun");
  EXPECT_EQ(refused({head, R"({"thread":0,"operation":"launch","device":0,"stream":1,"step":0})"}),
            "step.jsonl: line 2: stream: 1 is not from 0 to 0");
  EXPECT_EQ(refused({head, R"({"thread":0,"operation":"launch","device":0,"step":0})"}),
            "step.jsonl: line 2: stream: is missing");
  EXPECT_EQ(
      refused({head, R"({"thread":0,"gap":-1,"operation":"sync_device","device":0,"step":0})"}),
      "step.jsonl: line 2: gap: is no time from 0 to 3600 s");
  EXPECT_EQ(refused({head, R"({"operation":"graph_launch"})"}),
            "step.jsonl: line 2: operation: graph_launch: graphs cannot be made again; trace with "
            "--graphs nodes");
}

// ---- making the steps ----

// Three steps: a kernel of 1 ms, 0.5 ms of the host, and a wait; with a second thread, alternately.
TracedProgram three_steps(int threads) {
  TracedProgram program{
      .steps = 3, .threads = threads, .devices = 1, .events = 1, .streams = {{}}, .calls = {}};
  for (int step = 0; step < program.steps; ++step) {
    program.calls.push_back(
        {.operation = Operation::launch, .stream = 0, .step = step, .busy = 1e-3});
    if (threads > 1)
      program.calls.push_back(
          {.operation = Operation::query, .thread = 1, .stream = 0, .step = step});
    program.calls.push_back(
        {.operation = Operation::sync_stream, .stream = 0, .step = step, .gap = 5e-4});
  }
  return program;
}

// Records the calls.
class Noted : public TracedSteps {
 public:
  using TracedSteps::TracedSteps;
  std::vector<std::size_t> asked;
  int settled = 0;
  bool fails = false;

 private:
  void make_call(const TracedCall& /*call*/, std::size_t number) override {
    const std::scoped_lock lock(mutex_);
    if (fails && number == 1) throw std::runtime_error("lost");
    asked.push_back(number);
  }
  void settle() override { ++settled; }
  std::mutex mutex_;
};

TEST(TracedSteps, MakeEachCallOnceInTheOrderOfItsThread) {
  Noted steps(three_steps(1));
  const auto seconds = steps.make();
  EXPECT_EQ(seconds.size(), 2U);  // all except the first
  std::vector<std::size_t> all(6);
  std::iota(all.begin(), all.end(), 0);
  EXPECT_EQ(steps.asked, all);
  EXPECT_EQ(steps.settled, 1);
  for (const double step : seconds)
    EXPECT_GE(step, 5e-4);  // the host's pause
}

TEST(TracedSteps, MakeTheCallsOfAllThreads) {
  Noted steps(three_steps(2));
  EXPECT_EQ(steps.make().size(), 2U);
  EXPECT_EQ(steps.asked.size(), 9U);
}

TEST(TracedSteps, SayWhatAThreadFailedOf) {
  Noted steps(three_steps(2));
  steps.fails = true;
  EXPECT_THROW(steps.make(), std::runtime_error);
  EXPECT_EQ(steps.settled, 1);
}

TEST(TracedSteps, TakeAsLongAsTheirKernelsOnCpuDevices) {
  const auto engine = host_engine(1);
  const auto steps = engine->traced_steps(three_steps(1));
  for (const double step : steps->make())
    EXPECT_GE(step, 1e-3);
}

}  // namespace
}  // namespace gpucast::microbench
