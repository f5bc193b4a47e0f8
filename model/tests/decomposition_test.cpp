#include <gtest/gtest.h>

#include "gpucast/model/step_model.h"

namespace gpucast::model {
namespace {

const StepModel decomposed(StepTerms{Neighbours{}, Linear{}, Halo{}}, {}, 1, {});

// t_0, t_own, t_cpu, t_kernel, t_edge, t_face
constexpr double value[] = {1e-5, 2e-10, 0, 3e-6, 7e-6, 1e-9};

TEST(Neighbours, TakeTheTimeOfTheElementsThatAGpuOwns) {
  EXPECT_NEAR(decomposed.gpu_seconds(value, 64000, 1), 10e-6 + 12.8e-6, 1e-18);
  EXPECT_NEAR(decomposed.gpu_seconds(value, 64000, 8), 10e-6 + 1.6e-6, 1e-18);
}

TEST(Halo, IsTheSurfaceOfADomain) {
  // 64000 elements on 8 GPUs: domains of 8000, with surfaces of 400 (20 x 20).
  EXPECT_NEAR(decomposed.step_seconds(value, 64000, 8).com, 3e-6 + 7e-6 + 0.4e-6, 1e-16);
}

TEST(Halo, IsNoneOnOneGpu) { EXPECT_DOUBLE_EQ(decomposed.step_seconds(value, 64000, 1).com, 3e-6); }

}  // namespace
}  // namespace gpucast::model
