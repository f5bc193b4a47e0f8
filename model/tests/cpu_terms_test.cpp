#include "gpucast/model/cpu_terms.h"

#include <gtest/gtest.h>

#include <vector>

namespace gpucast::model {
namespace {

TEST(CpuTerm, LinearIsThePapersEquationTwo) {
  const double parameter[] = {4e-8};
  EXPECT_DOUBLE_EQ(cpu_time(CpuTerm::linear, parameter, 64000, {}), 2.56e-3);
}

TEST(CpuTerm, AffineAddsAFixedCostAStep) {
  const double parameter[] = {4e-8, 1e-4};
  EXPECT_DOUBLE_EQ(cpu_time(CpuTerm::affine, parameter, 64000, {}), 2.66e-3);
}

TEST(CpuTerm, CachedCostsMoreAParticleBeyondALevelOfCache) {
  // 3 ns each up to 20000 particles, 5 ns up to 100000, 8 ns beyond.
  const double parameter[] = {3e-9, 5e-9, 8e-9};
  const std::vector<double> full{20000, 100000};
  EXPECT_DOUBLE_EQ(cpu_time(CpuTerm::cached, parameter, 10000, full), 30e-6);
  EXPECT_DOUBLE_EQ(cpu_time(CpuTerm::cached, parameter, 60000, full), 60e-6 + 200e-6);
  EXPECT_DOUBLE_EQ(cpu_time(CpuTerm::cached, parameter, 200000, full), 460e-6 + 800e-6);
}

TEST(CpuTerm, CachedWithoutBreakpointsIsLinear) {
  const double parameter[] = {4e-8};
  for (const double n : {1.0, 64000.0, 1e9}) {
    EXPECT_DOUBLE_EQ(cpu_time(CpuTerm::cached, parameter, n, {}),
                     cpu_time(CpuTerm::linear, parameter, n, {}));
  }
  EXPECT_EQ(parameters(CpuTerm::cached, {}), parameters(CpuTerm::linear, {}));
}

TEST(CpuTerm, ListsAsManyParametersAsItReads) {
  EXPECT_EQ(parameters(CpuTerm::linear, {}).size(), 1U);
  EXPECT_EQ(parameters(CpuTerm::affine, {}).size(), 2U);
  EXPECT_EQ(parameters(CpuTerm::cached, {20000, 100000}).size(), 3U);
}

}  // namespace
}  // namespace gpucast::model
