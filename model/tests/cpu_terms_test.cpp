#include "gpucast/model/terms.h"

#include <gtest/gtest.h>

#include <vector>

namespace gpucast::model {
namespace {

double seconds(const CpuTerm& term, const double* parameter, double n,
               const std::vector<double>& knots) {
  return term_time(term, parameter, {n, 0}, {.knots = &knots});
}

TEST(CpuTerm, LinearIsThePapersEquationTwo) {
  const double parameter[] = {4e-8};
  EXPECT_DOUBLE_EQ(seconds(Linear{}, parameter, 64000, {}), 2.56e-3);
}

TEST(CpuTerm, AffineAddsAFixedCostAStep) {
  const double parameter[] = {4e-8, 1e-4};
  EXPECT_DOUBLE_EQ(seconds(Affine{}, parameter, 64000, {}), 2.66e-3);
}

TEST(CpuTerm, CachedCostsMoreAParticleBeyondALevelOfCache) {
  // 3 ns each up to 20000 particles, 5 ns up to 100000, 8 ns beyond.
  const double parameter[] = {3e-9, 5e-9, 8e-9};
  const std::vector<double> full{20000, 100000};
  EXPECT_DOUBLE_EQ(seconds(Cached{}, parameter, 10000, full), 30e-6);
  EXPECT_DOUBLE_EQ(seconds(Cached{}, parameter, 60000, full), 60e-6 + 200e-6);
  EXPECT_DOUBLE_EQ(seconds(Cached{}, parameter, 200000, full), 460e-6 + 800e-6);
}

TEST(CpuTerm, CachedWithoutBreakpointsIsLinear) {
  const double parameter[] = {4e-8};
  for (const double n : {1.0, 64000.0, 1e9}) {
    EXPECT_DOUBLE_EQ(seconds(Cached{}, parameter, n, {}), seconds(Linear{}, parameter, n, {}));
  }
  EXPECT_EQ(Cached::parameters({}), Linear::parameters({}));
}

TEST(CpuTerm, ListsAsManyParametersAsItReads) {
  EXPECT_EQ(Linear::parameters({}).size(), 1U);
  EXPECT_EQ(Affine::parameters({}).size(), 2U);
  EXPECT_EQ(Cached::parameters({20000, 100000}).size(), 3U);
}

}  // namespace
}  // namespace gpucast::model
