#include "gpucast/model/workload.h"

#include <gtest/gtest.h>

#include "gpucast/model/step_model.h"

namespace gpucast::model {
namespace {

TEST(Amount, IsAFactorTimesPowersOfSizeAndCount) {
  EXPECT_DOUBLE_EQ((Amount{12, 1, -1}(1000, 8)), 1500);
  EXPECT_DOUBLE_EQ((Amount{16, 1, 0}(1000, 8)), 16000);
  EXPECT_DOUBLE_EQ((Amount{3, 0, 0}(1000, 8)), 3);
  EXPECT_DOUBLE_EQ((Amount{0.5, 2, -2}(100, 2)), 1250);
  EXPECT_NEAR((Amount{2, 2.0 / 3, -2.0 / 3}(8000, 8)), 200, 1e-10);
}

TEST(Workload, IsAllPairsUnlessDeclared) {
  const Workload usual;
  // 10 particles on 3 GPUs: the largest share is 4, each visited 10 times.
  EXPECT_DOUBLE_EQ(usual.work(10, 3), 40);
  EXPECT_DOUBLE_EQ(usual.to_gpu(1000, 4), 16000);
  EXPECT_DOUBLE_EQ(usual.from_gpu(1000, 4), 3000);
  EXPECT_DOUBLE_EQ(usual.halo(1000, 4), 0);
  EXPECT_DOUBLE_EQ(usual.operations_of_step(1000), 78e6);
}

TEST(Workload, KnowsTheSizeThatBytesAreOf) {
  EXPECT_DOUBLE_EQ(all_pairs.size_of(16000, 4), 1000);
  Workload shared = all_pairs;
  shared.to_gpu = {24, 1, -1};
  EXPECT_DOUBLE_EQ(shared.size_of(6000, 4), 1000);
  shared.to_gpu = {8, 2, 0};
  EXPECT_DOUBLE_EQ(shared.size_of(8e6, 4), 1000);
}

// 40 neighbours an element whatever n is, an element's 24 bytes to its own GPU and none back.
constexpr Workload neighbours{
    .visits = {40, 0, 0}, .to_gpu = {24, 1, -1}, .from_gpu = {}, .operations = 25};

TEST(StepModel, ComputesAndMovesWhatItsWorkloadSays) {
  const StepModel model(StepTerms{Work{}, Linear{}, StarSerial{}}, {}, 1, {}, neighbours);
  // t_0, t_pair, t_root, t_cpu, t_kernel, L_h2d, B_h2d, L_d2h, B_d2h
  const double value[] = {1e-5, 1e-9, 0, 0, 3e-6, 1e-5, 1e9, 2e-5, 1e9};
  // 1000 elements on 4 GPUs: 250 x 40 units of work, 6000 bytes to each GPU.
  EXPECT_NEAR(model.gpu_seconds(value, 1000, 4), 1e-5 + 1e-5, 1e-18);
  EXPECT_NEAR(model.step_seconds(value, 1000, 4).com, 4 * (3e-6 + 1e-5 + 6e-6 + 2e-5), 1e-17);
}

TEST(StepModel, IsOfAllPairsUnlessToldOtherwise) {
  const StepModel model(StepTerms{}, {.cores = 2304}, 4, {});
  EXPECT_EQ(model.workload(), all_pairs);
}

// ---- figures of merit ----

TEST(Gflops, CountsSeventyEightOperationsForEachOrderedPair) {
  // 78 * 1000^2 operations in 78 ms: 1 Gflops.
  EXPECT_DOUBLE_EQ(all_pairs.gflops(1000, 78e-3), 1.0);
}

TEST(Gflops, TakesAnotherCountOfOperations) {
  Workload other = all_pairs;
  other.operations = 20;
  EXPECT_DOUBLE_EQ(other.gflops(1000, 1e-3), 20.0);
}

TEST(Gflops, CountsTheWorkOfNeighbourLists) {
  // A million particles, 40 short_range each, 25 operations a pair, in 0.1 s: 10 Gflops.
  const Workload short_range{.visits = {40, 0, 0}, .operations = 25};
  EXPECT_DOUBLE_EQ(short_range.gflops(1e6, 0.1), 10.0);
}

TEST(Efficiency, IsOneForPerfectScalingAndFallsWithTimeLost) {
  EXPECT_DOUBLE_EQ(efficiency(8.0, 2.0, 4), 1.0);
  EXPECT_DOUBLE_EQ(efficiency(8.0, 4.0, 4), 0.5);
}

}  // namespace
}  // namespace gpucast::model
