#include "gpucast/model/cpu_terms.h"

#include <gtest/gtest.h>

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

TEST(CpuTerm, ListsAsManyParametersAsItReads) {
  EXPECT_EQ(parameters(CpuTerm::linear, {}).size(), 1U);
  EXPECT_EQ(parameters(CpuTerm::affine, {}).size(), 2U);
}

}  // namespace
}  // namespace gpucast::model
