#include "engine/traced_steps.h"

#include <gtest/gtest.h>

#include <mutex>
#include <numeric>
#include <stdexcept>
#include <string>

#include "engine/engine.h"

namespace gpucast::microbench {
namespace {

// Three steps: a kernel of 1 ms, 0.5 ms of the host, and a wait; with a second thread, alternately.
TracedProgram three_steps(int threads) {
  TracedProgram program{
      .steps = 3, .threads = threads, .devices = 1, .events = 1, .streams = {{}}, .calls = {}};
  for (int step = 0; step < program.steps; ++step) {
    program.calls.push_back(
        {.operation = Operation::launch, .stream = 0, .step = step, .busy = 1e-3});
    if (threads > 1)
      program.calls.push_back(
          {.operation = Operation::query, .thread = 1, .stream = 0, .step = step});
    program.calls.push_back(
        {.operation = Operation::sync_stream, .stream = 0, .step = step, .gap = 5e-4});
  }
  return program;
}

// Records the calls.
class Noted : public TracedSteps {
 public:
  using TracedSteps::TracedSteps;
  std::vector<std::size_t> asked;
  int settled = 0;
  bool fails = false;

 private:
  void make_call(const TracedCall& /*call*/, std::size_t number) override {
    const std::scoped_lock lock(mutex_);
    if (fails && number == 1) throw std::runtime_error("lost");
    asked.push_back(number);
  }
  void settle() override { ++settled; }
  std::mutex mutex_;
};

TEST(TracedSteps, MakeEachCallOnceInTheOrderOfItsThread) {
  Noted steps(three_steps(1));
  const auto seconds = steps.make();
  EXPECT_EQ(seconds.size(), 2U);  // all except the first
  std::vector<std::size_t> all(6);
  std::iota(all.begin(), all.end(), 0);
  EXPECT_EQ(steps.asked, all);
  EXPECT_EQ(steps.settled, 1);
  for (const double step : seconds)
    EXPECT_GE(step, 5e-4);  // the host's pause
}

TEST(TracedSteps, MakeTheCallsOfAllThreads) {
  Noted steps(three_steps(2));
  EXPECT_EQ(steps.make().size(), 2U);
  EXPECT_EQ(steps.asked.size(), 9U);
}

TEST(TracedSteps, SayWhatAThreadFailedOf) {
  Noted steps(three_steps(2));
  steps.fails = true;
  EXPECT_THROW(steps.make(), std::runtime_error);
  EXPECT_EQ(steps.settled, 1);
}

TEST(TracedSteps, TakeAsLongAsTheirKernelsOnCpuDevices) {
  const auto engine = host_engine(1);
  const auto steps = engine->traced_steps(three_steps(1));
  for (const double step : steps->make())
    EXPECT_GE(step, 1e-3);
}

}  // namespace
}  // namespace gpucast::microbench
