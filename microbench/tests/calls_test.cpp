#include "engine/traced_steps.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <sstream>
#include <string>
#include <string_view>

#include "gpucast/support/errors.h"

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

}  // namespace
}  // namespace gpucast::microbench
