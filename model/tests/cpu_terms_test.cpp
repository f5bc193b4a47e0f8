
#include <gtest/gtest.h>

#include "gpucast/model/step_model.h"

namespace gpucast::model {
namespace {

double seconds(const CpuTerm& term, const double* parameter, double n) {
  return term_time(term, parameter, {n, 0}, {});
}

TEST(CpuTerm, LinearIsThePapersEquationTwo) {
  const double parameter[] = {4e-8};
  EXPECT_DOUBLE_EQ(seconds(Linear{}, parameter, 64000), 2.56e-3);
}

TEST(CpuTerm, AffineAddsAFixedCostAStep) {
  const double parameter[] = {4e-8, 1e-4};
  EXPECT_DOUBLE_EQ(seconds(Affine{}, parameter, 64000), 2.66e-3);
}

TEST(CpuTerm, BentCostsMoreAParticleBeyondACache) {
  // 5 us a step; 4 ns each, half as much again from beyond a cache of 1e5 particles.
  const double parameter[] = {5e-6, 4e-9, 0.5, 1e5};
  // At n = n_c half of them come from beyond: 1e5 * 4 ns * 1.25.
  EXPECT_DOUBLE_EQ(seconds(Bent{}, parameter, 1e5), 5e-6 + 500e-6);
  EXPECT_NEAR(seconds(Bent{}, parameter, 10), 5e-6 + 40e-9, 1e-11);
  EXPECT_NEAR(seconds(Bent{}, parameter, 1e11) / (1e11 * 6e-9), 1, 1e-6);
}

TEST(CpuTerm, BentThatGrowsByNothingIsAffine) {
  const double bent[] = {1e-4, 4e-8, 0, 1e5};
  const double affine[] = {4e-8, 1e-4};
  for (const double n : {1.0, 64000.0, 1e9})
    EXPECT_DOUBLE_EQ(seconds(Bent{}, bent, n), seconds(Affine{}, affine, n));
}

TEST(CpuTerm, ListsAsManyParametersAsItReads) {
  EXPECT_EQ(Linear::parameters().size(), 1U);
  EXPECT_EQ(Affine::parameters().size(), 2U);
  EXPECT_EQ(Bent::parameters().size(), 4U);
}

// ---- domain decomposition ----

const StepModel decomposed(StepTerms{Neighbours{}, Linear{}, Halo{}}, {}, 1, {});

// t_0, t_own, t_cpu, t_kernel, t_edge, t_face
constexpr double of_domains[] = {1e-5, 2e-10, 0, 3e-6, 7e-6, 1e-9};

TEST(Neighbours, TakeTheTimeOfTheElementsThatAGpuOwns) {
  EXPECT_NEAR(decomposed.gpu_seconds(of_domains, 64000, 1), 10e-6 + 12.8e-6, 1e-18);
  EXPECT_NEAR(decomposed.gpu_seconds(of_domains, 64000, 8), 10e-6 + 1.6e-6, 1e-18);
}

TEST(Halo, IsTheSurfaceOfADomain) {
  // 64000 elements on 8 GPUs: domains of 8000, with surfaces of 400 (20 x 20).
  EXPECT_NEAR(decomposed.step_seconds(of_domains, 64000, 8).com, 3e-6 + 7e-6 + 0.4e-6, 1e-16);
}

TEST(Halo, IsNoneOnOneGpu) {
  EXPECT_DOUBLE_EQ(decomposed.step_seconds(of_domains, 64000, 1).com, 3e-6);
}

}  // namespace
}  // namespace gpucast::model
