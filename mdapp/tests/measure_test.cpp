#include "app/measure.h"

#include <nlohmann/json.hpp>
#include <sstream>

#include "common.h"
#include "fake_engine.h"
#include "gpucast/support/errors.h"
#include "physics/observables.h"

namespace gpucast::mdapp {
namespace {

using test::contains;
using test::FakeStepper;

const MeasureOptions ten_steps{.enough = {.steps = 10},
                               .warm_up = {.least_seconds = 0, .most_seconds = 0}};

Measured measured(FakeStepper& stepper, const MeasureOptions& options,
                  const std::stop_token& interrupted = {}) {
  Processes one;
  return measure(stepper, options, one, interrupted);
}

TEST(Measure, TimesExactlyTheStepsAskedFor) {
  FakeStepper stepper;
  EXPECT_EQ(measured(stepper, ten_steps).seconds, std::vector<double>(10, 1e-3));
}

TEST(Measure, TimesOneStepInEightInParts) {
  FakeStepper stepper;
  MeasureOptions options = ten_steps;
  options.enough.steps = 700;
  const auto parts = static_cast<double>(measured(stepper, options).phases.size());
  EXPECT_NEAR(parts, 100, 10);
}

TEST(Measure, CountsBytesAStepOverAllDevices) {
  FakeStepper stepper;
  const Traffic bytes = measured(stepper, ten_steps).bytes_a_step;
  EXPECT_EQ(bytes.h2d, 256);
  EXPECT_EQ(bytes.d2h, 96);
  EXPECT_EQ(bytes.exchange, 0);
}

TEST(Measure, StopsWhenTheMedianIsKnown) {
  FakeStepper stepper;
  MeasureOptions options = ten_steps;
  options.enough = {.relative_half_width = 0.01, .max_seconds = 100};
  const auto samples = measured(stepper, options).seconds.size();
  EXPECT_GE(samples, 6U);
  EXPECT_LE(samples, 80U);  // all are equal: one check is enough
}

TEST(Measure, WarmsUpForAsLongAsAskedFor) {
  int steps = 0;
  FakeStepper stepper([&](int) { ++steps; });
  MeasureOptions options = ten_steps;
  options.warm_up = {.least_seconds = 0.5, .most_seconds = 0.5};
  const auto timed = measured(stepper, options);
  EXPECT_EQ(steps - static_cast<int>(timed.seconds.size() + timed.phases.size()), 500);
}

TEST(Measure, TakesTheEnergyDriftRelativeToTheStart) {
  FakeStepper stepper;
  MeasureOptions options = ten_steps;
  options.energy = true;
  const auto result = measured(stepper, options);
  const auto steps = static_cast<double>(2 + result.seconds.size() + result.phases.size());
  ASSERT_TRUE(result.energy_drift.has_value());
  EXPECT_NEAR(*result.energy_drift, 0.001 * steps, 1e-12);
}

TEST(Measure, KeepsWhatItHasWhenInterrupted) {
  std::stop_source interrupt;
  FakeStepper stepper([&](int made) {
    if (made == 70) interrupt.request_stop();
  });
  MeasureOptions options = ten_steps;
  options.enough.steps = 1000000;
  const auto result = measured(stepper, options, interrupt.get_token());
  EXPECT_TRUE(result.interrupted);
  EXPECT_GE(result.seconds.size(), 60U);
  EXPECT_LE(result.seconds.size(), 140U);
}

TEST(Measure, IsNotInterruptedOnceItIsDone) {
  std::stop_source interrupt;
  FakeStepper stepper([&](int made) {
    if (made == 13) interrupt.request_stop();
  });
  const auto result = measured(stepper, ten_steps, interrupt.get_token());
  EXPECT_EQ(result.seconds.size(), 10U);
  EXPECT_FALSE(result.interrupted);
}

// Runs a grid of three cells; `at_step` receives the numbers of the cell and the step.
class MeasureGrid : public ::testing::Test {
 protected:
  Outcome run(const std::function<void(int, int)>& at_step = {}) {
    std::vector<Cell> cells(3);
    for (std::size_t k = 0; k < 3; ++k)
      cells[k].n = static_cast<int>(8 * (k + 1));
    int cell = -1;
    const GridRun grid{
        .cells = planned(cells),
        .common = {.machine = "here",
                   .path = "native",
                   .boundary = "open",
                   .default_block = [](KernelName) { return 128; }},
        .options = options_,
        .open =
            [&](const Cell&) {
              ++cell;
              return std::make_unique<FakeStepper>([&at_step, number = cell](int made) {
                if (at_step) at_step(number, made);
              });
            },
        .write = write_};
    Context context{{.program = program,
                     .command_line = {},
                     .interrupted = interrupt_.get_token(),
                     .out = err_,
                     .err = err_},
                    one_};
    support::Progress progress(err_, {.quiet = quiet_}, cells.size());
    return measure_grid(grid, context, progress);
  }

  MeasureOptions options_ = ten_steps;
  std::stop_source interrupt_;
  Processes one_;
  std::ostringstream err_;
  bool quiet_ = true;
  std::vector<Record> records_;
  std::function<void(const Record&)> write_ = [this](const Record& record) {
    records_.push_back(record);
  };
};

TEST_F(MeasureGrid, WritesARecordForEachCell) {
  const Outcome outcome = run();
  EXPECT_EQ(outcome.measured, 3U);
  ASSERT_EQ(records_.size(), 3U);
  const Record& record = records_[1];
  EXPECT_EQ(record["kind"], "step");
  EXPECT_EQ(record["machine"], "here");
  EXPECT_EQ(record["path"], "native");
  EXPECT_EQ(record["schedule"], "star-serial");
  EXPECT_EQ(record["kernel"], "claret");
  EXPECT_EQ(record["memory"], "pageable");
  EXPECT_EQ(record["boundary"], "open");
  EXPECT_EQ(record["graph"], false);
  EXPECT_EQ(record["n"], 16);
  EXPECT_EQ(record["gpus"], 1);
  EXPECT_EQ(record["block"], 128);
  EXPECT_EQ(record["bytes"]["h2d"], 256);
  EXPECT_EQ(record["seconds"].size(), 10U);
  EXPECT_EQ(record["phases"]["kernel"][0], 7e-4);
  EXPECT_EQ(err_.str(), "");
}

TEST_F(MeasureGrid, ShowsWhichCellOfHowManyAndItsMedian) {
  quiet_ = false;
  run();
  EXPECT_TRUE(contains(err_.str(),
                       "[2/3] n=16 gpus=1 star-serial claret pageable: 1 ms ± 0.0 %, 10 steps"));
}

TEST_F(MeasureGrid, GoesOnAfterAnOverlapAndSaysWhichCellFailed) {
  const Outcome outcome = run([](int cell, int made) {
    if (cell == 1 && made == 5) throw Overlap("particles 3 (Na) and 4 (Cl) overlap");
  });
  EXPECT_EQ(outcome.measured, 2U);
  EXPECT_EQ(outcome.failed, 1U);
  EXPECT_FALSE(outcome.device_lost);
  ASSERT_EQ(records_.size(), 3U);
  EXPECT_EQ(records_[1]["kind"], "note");
  EXPECT_EQ(records_[1]["about"]["n"], 16);
  EXPECT_EQ(records_[2]["kind"], "step");
  EXPECT_EQ(err_.str(),
            "gpucast-mdapp: error: n=16 gpus=1 star-serial claret pageable: particles 3 (Na) and 4 "
            "(Cl) overlap\n");
}

TEST_F(MeasureGrid, StopsWhereADeviceFailsAndKeepsTheRecordsSoFar) {
  const Outcome outcome = run([](int cell, int made) {
    if (cell == 1 && made == 5) throw DeviceError("GPU 0: unspecified launch failure");
  });
  EXPECT_EQ(outcome.measured, 1U);
  EXPECT_EQ(outcome.failed, 1U);
  EXPECT_TRUE(outcome.device_lost);
  ASSERT_EQ(records_.size(), 2U);
  EXPECT_EQ(records_[0]["kind"], "step");
  EXPECT_TRUE(
      contains(records_[1]["text"].get<std::string>(), "GPU 0: unspecified launch failure"));
}

TEST_F(MeasureGrid, WritesTheCellUnderWayWhenInterruptedAndNoFurther) {
  const Outcome outcome = run([this](int cell, int made) {
    if (cell == 1 && made == 4) interrupt_.request_stop();
  });
  EXPECT_TRUE(outcome.interrupted);
  // There are few steps between two checks, so that ten may be complete.
  EXPECT_EQ(outcome.measured, 2U);
  EXPECT_EQ(records_.size(), 2U);
}

TEST_F(MeasureGrid, MarksACellThatWasInterrupted) {
  options_.enough.steps = 100000;
  const Outcome outcome = run([this](int, int made) {
    if (made == 40) interrupt_.request_stop();
  });
  EXPECT_TRUE(outcome.interrupted);
  ASSERT_EQ(records_.size(), 1U);
  EXPECT_EQ(records_[0]["caveat"], "interrupted");
}

TEST_F(MeasureGrid, DoesNotTakeAFullDiskForAFailureOfTheCell) {
  write_ = [](const Record&) { throw support::OutputError("disk full"); };
  EXPECT_THROW(run(), support::OutputError);
}

}  // namespace
}  // namespace gpucast::mdapp
