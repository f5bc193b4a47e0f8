#include "gpucast/model/transfer_curve.h"

#include <gtest/gtest.h>

namespace gpucast::model {
namespace {

TEST(TransferCurve, WithoutBreakpointsIsAStraightLine) {
  const double parameter[] = {1e-5, 1e9};
  EXPECT_DOUBLE_EQ(transfer_time(TransferCurve{}, parameter, 0), 1e-5);
  EXPECT_DOUBLE_EQ(transfer_time(TransferCurve{}, parameter, 1e6), 1e-5 + 1e-3);
  EXPECT_DOUBLE_EQ(transfer_time(TransferCurve{}, parameter, 0.5), 1e-5 + 0.5e-9);
}

// 1 GB/s up to 1000 bytes, 2 GB/s up to 5000, 0.5 GB/s beyond.
TransferCurve chain() { return {{1000, 5000}}; }
constexpr double chain_parameter[] = {1e-5, 1e9, 2e9, 5e8};

double chain_time(double bytes) { return transfer_time(chain(), chain_parameter, bytes); }

TEST(TransferCurve, AddsThePiecesThatATransferSpans) {
  EXPECT_NEAR(chain_time(500), 10e-6 + 0.5e-6, 1e-20);
  EXPECT_NEAR(chain_time(3000), 10e-6 + 1e-6 + 1e-6, 1e-20);
  EXPECT_NEAR(chain_time(7000), 10e-6 + 1e-6 + 2e-6 + 4e-6, 1e-20);
}

TEST(TransferCurve, IsContinuousAtItsBreakpoints) {
  for (const double at : {1000.0, 5000.0}) {
    EXPECT_NEAR(chain_time(at * (1 + 1e-12)), chain_time(at), 1e-16);
    EXPECT_NEAR(chain_time(at * (1 - 1e-12)), chain_time(at), 1e-16);
  }
}

TEST(TransferCurve, HasTheSlopeOfItsPiece) {
  const auto slope = [](double bytes) { return (chain_time(bytes + 1) - chain_time(bytes)); };
  EXPECT_NEAR(slope(0), 1e-9, 1e-18);
  EXPECT_NEAR(slope(999), 1e-9, 1e-18);
  EXPECT_NEAR(slope(1000), 0.5e-9, 1e-18);
  EXPECT_NEAR(slope(4999), 0.5e-9, 1e-18);
  EXPECT_NEAR(slope(5000), 2e-9, 1e-18);
  EXPECT_NEAR(slope(1e6), 2e-9, 1e-16);
}

TEST(TransferCurve, NeverFallsAsTransfersGrowWithoutAJump) {
  double before = 0;
  for (int step = 0; step < 1400; ++step) {
    const double bytes = 7.5 * step;
    EXPECT_GT(chain_time(bytes), before);
    before = chain_time(bytes);
  }
}

// A jump down at 16 KiB, to 8 us, and a bend at 1 MiB.
const auto jumping = [] { return TransferCurve{{16384, 16384, 1048576}}; };
constexpr double jumping_parameter[] = {7e-6, 5e9, 8e-6, 1e10, 5e10};

TEST(TransferCurve, JumpsWhereABreakpointStandsTwice) {
  const auto time = [](double bytes) { return transfer_time(jumping(), jumping_parameter, bytes); };
  EXPECT_DOUBLE_EQ(time(1000), 7e-6 + 1000 / 5e9);
  EXPECT_DOUBLE_EQ(time(16384), 7e-6 + 16384 / 5e9);
  EXPECT_NEAR(time(16384.001), 8e-6, 1e-12);
  EXPECT_DOUBLE_EQ(time(116384), 8e-6 + 1e5 / 1e10);
  EXPECT_DOUBLE_EQ(time(1048576 + 5e6), 8e-6 + (1048576 - 16384) / 1e10 + 1e-4);
}

TEST(TransferCurve, NamesTheTimeAboveAJump) {
  const auto list = parameters(jumping(), "h2d");
  ASSERT_EQ(list.size(), jumping().parameter_count());
  EXPECT_EQ(list[1].name, "B_h2d_1");
  EXPECT_EQ(list[2].name, "S_h2d_2");
  EXPECT_EQ(list[2].unit, "s");
  EXPECT_FALSE(list[2].reciprocal);
  EXPECT_EQ(list[3].name, "B_h2d_3");
  EXPECT_EQ(list[4].name, "B_h2d");
}

TEST(TransferCurve, OfEqualThroughputsIsTheStraightLine) {
  const double equal[] = {1e-5, 3e9, 3e9, 3e9};
  for (const double bytes : {0.0, 999.0, 1000.0, 4000.0, 5000.0, 1e8})
    EXPECT_NEAR(transfer_time(chain(), equal, bytes), 1e-5 + bytes / 3e9, 1e-15);
}

TEST(TransferCurve, NamesTheThroughputOfLargeTransfersPlainly) {
  const auto list = parameters(chain(), "h2d");
  ASSERT_EQ(list.size(), chain().parameter_count());
  std::vector<std::string> names;
  names.reserve(list.size());
  for (const auto& parameter : list)
    names.push_back(parameter.name);
  EXPECT_EQ(names, (std::vector<std::string>{"L_h2d", "B_h2d_1", "B_h2d_2", "B_h2d"}));
  EXPECT_EQ(list[0].unit, "s");
  EXPECT_FALSE(list[0].reciprocal);
  EXPECT_EQ(list[3].unit, "B/s");
  EXPECT_TRUE(list[1].reciprocal && list[2].reciprocal && list[3].reciprocal);
}

}  // namespace
}  // namespace gpucast::model
