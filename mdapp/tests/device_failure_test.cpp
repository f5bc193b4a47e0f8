#include <gtest/gtest.h>

#include "failing_engine.h"
#include "schedules.h"
#include "shaken.h"

namespace gpucast::mdapp {
namespace {

using test::FailingEngine;

// Whatever a run asks of a stepper, with devices that fail after `operations`.
void run(Schedule schedule, const IntegratorOptions& integrator, int operations) {
  FailingEngine engine(3, operations);
  const auto stepper =
      make_stepper(engine, test::melt(nacl(), 10), integrator, {.name = schedule, .gpus = 3});
  stepper->steps(2);
  stepper->step_in_phases();
  stepper->potential();
  stepper->system();
}

// Operations until a run gets through.
int operations_needed(Schedule schedule, const IntegratorOptions& integrator) {
  for (int operations = 0;; ++operations) {
    try {
      run(schedule, integrator, operations);
      return operations;
    } catch (const DeviceError& error) {
      EXPECT_STREQ(error.what(), "device 0: out of order");
    }
  }
}

// Wherever in a run a device fails, the run ends with its error: it neither hangs nor goes on.
TEST(DeviceFailure, ComesThroughTheStepperFromAnyOperation) {
  for (const IntegratorOptions& integrator : test::integrators) {
    for (const Schedule schedule : test::schedules)
      EXPECT_GT(operations_needed(schedule, integrator), 30) << test::describe(schedule, 3);
  }
}

}  // namespace
}  // namespace gpucast::mdapp
