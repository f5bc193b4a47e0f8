#include "gpucast/support/errors.h"

#include <gtest/gtest.h>

namespace gpucast::support {
namespace {

TEST(ExitStatus, IsTwoForWrongInputAndOneForAFailedRun) {
  EXPECT_EQ(exit_status(InputError("out.jsonl: exists already")), 2);
  EXPECT_EQ(exit_status(OutputError("out.jsonl: No space left on device")), 1);
  EXPECT_EQ(exit_status(std::runtime_error("anything else")), 1);
}

}  // namespace
}  // namespace gpucast::support
