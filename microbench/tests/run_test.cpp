#include "app/run.h"

#include <gtest/gtest.h>

#include <sstream>

#include "fake_engine.h"

namespace gpucast::microbench {
namespace {

using records::Memory;
using records::TransferMethod;
using test::Fake;
using test::FakeEngine;
using Json = nlohmann::ordered_json;

class RunTest : public testing::Test {
 protected:
  Outcome measure(std::vector<Cell> cells, double budget = 0,
                  const std::stop_token& interrupted = {}) {
    FakeEngine engine(fake_);
    const microbench::Run run{.cells = std::move(cells),
                              .machine = "m",
                              .path = "native",
                              .samples = {},
                              .budget = budget,
                              .run_to_run = run_to_run_,
                              .write = [this](const Json& record) { written_.push_back(record); }};
    std::ostringstream err;
    support::Progress progress(err, {.quiet = true}, run.cells.size());
    return microbench::measure(engine, run, progress, interrupted);
  }

  static TransferCell up(std::int64_t bytes, TransferMethod method = TransferMethod::gated,
                         Memory memory = Memory::pinned) {
    return {.copies = {{.from = host, .to = 0, .bytes = bytes, .memory = memory}},
            .method = method};
  }

  Fake fake_;
  RunToRun run_to_run_;
  std::vector<Json> written_;
};

TEST_F(RunTest, WritesARecordACell) {
  const Outcome outcome =
      measure({up(1000), up(1000, TransferMethod::call),
               LaunchCell{.method = records::LaunchMethod::sync, .arguments = 4},
               OverlapCell{.bytes = 10, .parts = {records::OverlapPart::h2d}},
               SkeletonCell{{.devices = {0, 1}, .h2d_bytes = 64, .d2h_bytes = 24, .busy = 1e-5}}});
  EXPECT_EQ(outcome.failed + outcome.skipped, 0U);
  ASSERT_EQ(written_.size(), 5U);
  EXPECT_EQ(written_[4]["kind"], "skeleton");
  EXPECT_EQ(written_[4]["gpus"], 2);
  EXPECT_EQ(written_[4]["busy"], 1e-5);
  EXPECT_NEAR(written_[4]["kernel_seconds"].get<double>(), 1.1e-5, 1e-12);
  EXPECT_EQ(written_[0]["kind"], "transfer");
  EXPECT_EQ(written_[0]["method"], "gated");
  EXPECT_EQ(written_[0]["from"], "host");
  EXPECT_EQ(written_[0]["bytes"], 1000);
  EXPECT_NEAR(written_[0]["seconds"][0].get<double>(), 2.02e-6, 1e-12);
  EXPECT_EQ(written_[1]["method"], "call");
  EXPECT_EQ(written_[2]["arguments"], 4);
  EXPECT_EQ(written_[3]["parts"], Json::array({"h2d"}));
  EXPECT_EQ(fake_.opened, 1);  // the same copies, timed by two methods
}

TEST_F(RunTest, WhatIsKnownOfOtherRunsWidensIntervals) {
  EXPECT_EQ(measure({up(1000)}).results[0].relative_half_width, 0);
  for (const double seconds : {1.0, 1.1}) {
    run_to_run_.add({{"kind", "transfer"},
                     {"route", "h2d"},
                     {"engine", "copy"},
                     {"method", "gated"},
                     {"bytes", 1000},
                     {"seconds", {seconds}}});
  }
  const Outcome outcome = measure({up(1000)});
  EXPECT_EQ(written_.back()["run_to_run"]["runs"], 2);
  EXPECT_GT(outcome.results[0].relative_half_width, 0.5);
}

TEST_F(RunTest, CopiesBesideOthersAreNamed) {
  TransferCell cell = up(1000);
  cell.copies.push_back({.from = 0, .to = host, .bytes = 1000});
  measure({cell});
  ASSERT_EQ(written_.size(), 1U);
  EXPECT_EQ(written_[0]["concurrent"][0]["from"], "gpu0");
  EXPECT_EQ(written_[0]["concurrent"][0]["to"], "host");
}

TEST_F(RunTest, WhatCannotBeMadeIsSkippedWithItsReason) {
  const Outcome outcome = measure({up(1000, TransferMethod::call, Memory::mapped),
                                   LaunchCell{.method = records::LaunchMethod::graph}, up(1000)});
  EXPECT_EQ(outcome.skipped, 2U);
  ASSERT_EQ(written_.size(), 3U);
  EXPECT_EQ(written_[0]["kind"], "note");
  EXPECT_NE(written_[0]["text"].get<std::string>().find("no mapped memory here"),
            std::string::npos);
  EXPECT_NE(written_[1]["text"].get<std::string>().find("no graphs here"), std::string::npos);
  EXPECT_EQ(written_[2]["kind"], "transfer");
}

TEST_F(RunTest, AFailedCellLeavesTheOthers) {
  int calls = 0;
  fake_.before_each = [&calls] {
    if (++calls == 3) throw DeviceError("gpu0: out of order");
  };
  const Outcome outcome = measure({up(2000, TransferMethod::call), up(1000, TransferMethod::call)});
  EXPECT_EQ(outcome.failed, 1U);
  EXPECT_EQ(outcome.results.size(), 1U);
  ASSERT_EQ(written_.size(), 2U);
  EXPECT_NE(written_[0]["text"].get<std::string>().find("failed, gpu0: out of order"),
            std::string::npos);
  EXPECT_EQ(written_[1]["bytes"], 1000);
}

TEST_F(RunTest, WrongDataAreRecordedAsSuch) {
  fake_.correct = false;
  const Outcome outcome = measure({up(1000)});
  EXPECT_EQ(outcome.failed, 1U);
  EXPECT_TRUE(outcome.results.empty());
  ASSERT_EQ(written_.size(), 2U);
  EXPECT_EQ(written_[0]["valid"], false);
}

TEST_F(RunTest, ASpentBudgetSkipsTheRest) {
  const Outcome outcome = measure({up(1000), up(2000)}, 1e-9);
  EXPECT_EQ(outcome.skipped, 2U);
  EXPECT_NE(written_[0]["text"].get<std::string>().find("budget"), std::string::npos);
}

TEST_F(RunTest, AnInterruptEndsIt) {
  std::stop_source stop;
  stop.request_stop();
  const Outcome outcome = measure({up(1000)}, 0, stop.get_token());
  EXPECT_TRUE(outcome.interrupted);
  EXPECT_TRUE(written_.empty());
}

TEST_F(RunTest, SmallestCopiesGetTwoEstimatesOfTheirLatency) {
  const Outcome outcome = measure({up(64)});
  ASSERT_EQ(outcome.latencies.size(), 1U);
  EXPECT_NEAR(outcome.latencies[0].latency.slope, outcome.latencies[0].latency.single, 1e-9);
  EXPECT_EQ(written_.back()["about"]["bytes"], 64);
}

TEST_F(RunTest, LoopsOverHostMemoryAreRecorded) {
  HostMemoryCell cell{.bytes = 4096};
  const HostMemoryCell touch{.bytes = 4096, .phase = HostPhase::first_touch};
  cell.pattern = LoopPattern::random;
  cell.runner = Runner::gpu;
  const Outcome outcome = measure({cell, touch});
  ASSERT_EQ(written_.size(), 2U);
  EXPECT_EQ(written_[0]["kind"], "host_memory");
  EXPECT_EQ(written_[0]["pattern"], "random");
  EXPECT_EQ(written_[0]["runner"], "gpu");
  EXPECT_EQ(written_[0]["phase"], "loop");
  EXPECT_EQ(written_[0]["seconds"][0], 5e-3);
  EXPECT_EQ(written_[1]["pattern"], "none");
  EXPECT_EQ(written_[1]["phase"], "first_touch");
  std::ostringstream out;
  print_report(outcome, out);
  EXPECT_NE(out.str().find("gpu random"), std::string::npos) << out.str();
  EXPECT_NE(out.str().find("5 ms"), std::string::npos) << out.str();
}

TEST_F(RunTest, ALoopWithWrongResultsFails) {
  fake_.correct = false;
  const Outcome outcome = measure({HostMemoryCell{.bytes = 4096}});
  EXPECT_EQ(outcome.failed, 1U);
  EXPECT_EQ(written_[0]["kind"], "note");
}

TEST_F(RunTest, TheReportSaysWhoDisturbsWhom) {
  TransferCell both = up(1 << 20);
  both.copies.push_back({.from = 0, .to = host, .bytes = 1 << 20});
  std::ostringstream out;
  print_report(measure({up(1 << 20), both}), out);
  EXPECT_NE(out.str().find("         0>h\n   h>0  2.00\n"), std::string::npos) << out.str();
  EXPECT_NE(out.str().find("every two of these copies share a link"), std::string::npos)
      << out.str();
}

}  // namespace
}  // namespace gpucast::microbench
