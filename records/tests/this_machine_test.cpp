#include "gpucast/records/this_machine.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <sstream>

namespace gpucast::records {
namespace {

Machine of_this_test(const std::string& id = "") {
  return this_machine({.name = "program", .version = "1"}, {"program", "-n", "216"}, id);
}

TEST(CpuModel, IsTheFirstModelName) {
  std::istringstream text("processor\t: 0\nmodel name\t: Xeon(R) 8480C \r\nmodel name\t: Other\n");
  EXPECT_EQ(cpu_model(text), "Xeon(R) 8480C");
}

TEST(CpuModel, IsNothingWhereTheFileHasNone) {
  std::istringstream arm("processor\t: 0\nBogoMIPS\t: 50.00\nmodel name\t:\nmodel\t\t: 4\n");
  EXPECT_EQ(cpu_model(arm), std::nullopt);
}

TEST(Utc, IsIso8601WithMilliseconds) {
  using namespace std::chrono;
  EXPECT_EQ(utc(system_clock::time_point(seconds(1738324800) + milliseconds(7))),
            "2025-01-31T12:00:00.007Z");
  EXPECT_EQ(utc(system_clock::time_point(milliseconds(-1))), "1969-12-31T23:59:59.999Z");
}

TEST(ThisMachine, SaysWhereWhenAndHow) {
  const Machine machine = of_this_test();
  EXPECT_NE(machine.host.value_or(""), "");
  EXPECT_NE(machine.cpu.value_or(""), "");
  EXPECT_GE(machine.cpu_cores.value_or(0), 1);
  EXPECT_EQ(machine.tool.value_or(Tool{}).name, "program");
  EXPECT_EQ(machine.command, (std::vector<std::string>{"program", "-n", "216"}));
  EXPECT_EQ(machine.started.value_or("").size(), std::string("2025-01-31T12:00:00.007Z").size());
  EXPECT_NO_THROW(to_json(machine));
}

TEST(ThisMachine, HasAnIdOfHostStartAndProcess) {
  const Machine machine = of_this_test();
  EXPECT_TRUE(machine.id.starts_with(machine.host.value_or("?") + "-2"));
  EXPECT_TRUE(machine.id.ends_with("Z-" + std::to_string(getpid())));
}

TEST(ThisMachine, TakesTheIdItIsGiven) { EXPECT_EQ(of_this_test("lab-4").id, "lab-4"); }

}  // namespace
}  // namespace gpucast::records
