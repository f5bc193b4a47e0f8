#include "measure/run_to_run.h"

#include <gtest/gtest.h>

namespace gpucast::microbench {
namespace {

Json transfer(std::int64_t bytes, double seconds, const char* memory = "pinned") {
  return {{"kind", "transfer"},
          {"route", "h2d"},
          {"engine", "copy"},
          {"method", "gated"},
          {"memory", memory},
          {"bytes", bytes},
          {"seconds", {seconds, seconds * 3, seconds / 3}}};
}

double sd_of(const RunToRun& known, Json record) {
  known.annotate(record);
  return record.contains("run_to_run") ? record["run_to_run"]["sd"].get<double>() : -1;
}

class RunToRunTest : public testing::Test {
 protected:
  RunToRunTest() {
    for (const double seconds : {0.9, 1.0, 1.1}) {
      known_.add(transfer(64, seconds));
      known_.add(transfer(4096, 10.0));
    }
  }
  RunToRun known_;
};

TEST_F(RunToRunTest, IsTheSpreadOfTheMedians) {
  EXPECT_NEAR(sd_of(known_, transfer(64, 1)), 0.1, 1e-12);
  EXPECT_NEAR(sd_of(known_, transfer(4096, 1)), 0, 1e-12);
  Json record = transfer(64, 1);
  known_.annotate(record);
  EXPECT_EQ(record["run_to_run"]["runs"], 3);
}

TEST_F(RunToRunTest, IsInterpolatedBetweenSizesAndKeptBeyond) {
  EXPECT_NEAR(sd_of(known_, transfer(512, 1)), 0.05, 1e-12);
  EXPECT_NEAR(sd_of(known_, transfer(1, 1)), 0.1, 1e-12);
  EXPECT_NEAR(sd_of(known_, transfer(1 << 30, 1)), 0, 1e-12);
}

TEST_F(RunToRunTest, PinnedMemoriesAreAlikePageableIsNot) {
  EXPECT_NEAR(sd_of(known_, transfer(64, 1, "mapped")), 0.1, 1e-12);
  EXPECT_EQ(sd_of(known_, transfer(64, 1, "pageable")), -1);
}

TEST_F(RunToRunTest, CopiesThatAreSentAndFetchedAreTwoKinds) {
  const auto peer = [](const char* issuer, double seconds) {
    return Json{{"kind", "transfer"}, {"route", "peer"},  {"from", "gpu0"},      {"to", "gpu1"},
                {"bytes", 64},        {"issuer", issuer}, {"seconds", {seconds}}};
  };
  for (const double seconds : {1.0, 2.0})
    known_.add(peer("gpu1", seconds));
  EXPECT_GT(sd_of(known_, peer("gpu1", 1)), 0.1);
  EXPECT_EQ(sd_of(known_, peer("gpu0", 1)), -1);
}

TEST_F(RunToRunTest, IsNotSaidOfOtherKinds) {
  EXPECT_EQ(sd_of(known_, {{"kind", "launch"}, {"method", "sync"}, {"seconds", {1.0}}}), -1);
  EXPECT_EQ(sd_of(known_, {{"kind", "overlap"}, {"seconds", {1.0}}}), -1);
  RunToRun once;
  once.add(transfer(64, 1));
  EXPECT_EQ(sd_of(once, transfer(64, 1)), -1);
}

TEST(ChildProcess, GivesWhatItWrote) {
  EXPECT_EQ(output_of("GREETING=hello sh -c 'echo $GREETING; echo lost >&2'"), "hello\n");
}

TEST(ChildProcess, ThatFailsIsAnError) {
  EXPECT_THROW(output_of("exit 3"), support::DeviceError);
  EXPECT_THROW(output_of("/nowhere/program"), support::DeviceError);
}

}  // namespace
}  // namespace gpucast::microbench
