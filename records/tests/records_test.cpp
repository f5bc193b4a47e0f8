
#include <unistd.h>

#include <cmath>
#include <limits>
#include <sstream>

#include "refused.h"
#include "sample_records.h"

namespace gpucast::records {
namespace {

const Step least_step{.n = 216, .gpus = 1};
Measurement least() { return {.machine = "m", .path = "native", .seconds = {0.5}}; }

template <class Change>
std::string refusal(const Change& change) {
  Step step = least_step;
  Measurement timed = least();
  change(step, timed);
  return support::refused<std::invalid_argument>([&] { to_json(step, timed); });
}

TEST(Records, LeaveOutWhatIsNotSet) {
  EXPECT_EQ(to_json(least_step, least()).dump(),
            R"({"kind":"step","machine":"m","path":"native","n":216,"gpus":1,"seconds":[0.5]})");
  EXPECT_EQ(to_json(Note{.text = "why"}).dump(), R"({"kind":"note","text":"why"})");
  EXPECT_EQ(to_json(Machine{.id = "m"}).dump(), R"({"kind":"machine","id":"m"})");
}

TEST(Records, SayWhatCarriesCallsToRemoteGpus) {
  EXPECT_EQ(to_json(Machine{.id = "m", .transport = "tls"}).dump(),
            R"({"kind":"machine","id":"m","transport":"tls"})");
}

TEST(Records, WriteStepsWithAllThatIsKnownOfThem) {
  EXPECT_EQ(to_json(sample::step(), sample::timed()).dump(),
            R"({"kind":"step","machine":"m","path":"native","schedule":"star-async",)"
            R"("kernel":"tuned","n":100000,"gpus":4,"block":128,"memory":"pinned","graph":true,)"
            R"("boundary":"periodic","bytes":{"h2d":6400000,"d2h":1600000,"exchange":0},)"
            R"("energy_drift":-1e-09,"seconds":[0.1,0.3333333333333333,5e-324],)"
            R"("caveat":"beside\nothers","phases":{)"
            R"("h2d":[0.0001,0.0],"kernel":[0.002,0.002],"d2h":[0.0001,0.0001],"cpu":[0.0,0.0],)"
            R"("exchange":[1e-05,0.0]}})");
}

TEST(Records, NameTheProgramAndSettingOfStepsThatAreNotTheMiniApps) {
  Step step = least_step;
  step.program = "halo-exchange";
  step.case_name = "pinned";
  step.unit = "cells";
  EXPECT_EQ(to_json(step, least()).dump(),
            R"({"kind":"step","machine":"m","path":"native","program":"halo-exchange",)"
            R"("case":"pinned","n":216,"unit":"cells","gpus":1,"seconds":[0.5]})");
}

TEST(Records, KeepIntegersWholeAndDoublesToTheLastBit) {
  const auto again = nlohmann::json::parse(to_json(sample::transfer(), sample::timed()).dump());
  EXPECT_TRUE(again["bytes"].is_number_integer());
  EXPECT_EQ(again["bytes"].get<std::int64_t>(), std::int64_t{1} << 40U);
  EXPECT_EQ(again["seconds"].get<std::vector<double>>(), sample::timed().seconds);
}

TEST(Records, OfNoSamplesAreRefused) {
  EXPECT_EQ(refusal([](Step&, Measurement& timed) { timed.seconds.clear(); }),
            "seconds: no samples");
}

TEST(Records, OfTimesThatAreNotPositiveAndFiniteAreRefused) {
  for (const double wrong : {0.0, -1.0, std::nan(""), std::numeric_limits<double>::infinity()}) {
    EXPECT_NE(
        refusal([&](Step&, Measurement& timed) { timed.seconds = {1, wrong}; }).find("seconds: "),
        std::string::npos);
  }
  EXPECT_EQ(refusal([](Step& step, Measurement&) { step.phases = {{.cpu = std::nan("")}}; }),
            "cpu: is no time");
  EXPECT_EQ(refusal([](Step& step, Measurement&) { step.energy_drift = std::nan(""); }),
            "step.energy_drift: not a finite number");
}

TEST(Records, OfCountsBelowOneAreRefused) {
  EXPECT_EQ(refusal([](Step& step, Measurement&) { step.n = 0; }), "n: 0 is less than 1");
  EXPECT_EQ(refusal([](Step& step, Measurement&) { step.bytes = {.h2d = -1}; }),
            "bytes.h2d: -1 is less than 0");
}

TEST(Records, OfLabelsThatNoReaderTakesAreRefused) {
  EXPECT_EQ(refusal([](Step&, Measurement& timed) { timed.path.clear(); }),
            "path: must not be empty");
  for (const char* const wrong : {"a\nb", "\x7f", "a\xc2\x85"}) {
    EXPECT_EQ(refusal([&](Step&, Measurement& timed) { timed.path = wrong; }),
              "path: has control characters");
  }
  const Measurement remote{.machine = "m", .path = "遠隔 größe", .seconds = {0.5}};
  EXPECT_EQ(to_json(least_step, remote)["path"], remote.path);
}

TEST(Records, OfFreeObjectsWithNumbersThatJsonLacksAreRefused) {
  const Note note{.text = "x",
                  .about = nlohmann::ordered_json{{"a", {1.0, {{"b", std::nan("")}}}}}};
  EXPECT_EQ(support::refused<std::invalid_argument>([&] { to_json(note); }),
            "note.about.a[1].b: not a finite number");
  EXPECT_EQ(support::refused<std::invalid_argument>(
                [] { to_json(Note{.text = "x", .about = nlohmann::ordered_json(3)}); }),
            "about: not an object");
}

// ---- this machine ----

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
