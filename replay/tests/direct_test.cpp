// Schedules worked out by hand, rule by rule: what the host and the GPU do natively.
#include <gtest/gtest.h>

#include <cmath>

#include "gpucast/replay/simulate.h"
#include "made.h"

namespace gpucast::replay {
namespace {

using namespace made;

Times natively(const Program& program) { return simulate(program, {}); }

TEST(Direct, AKernelBeginsAfterTheLaunchAndASynchronizationReturnsAfterItsEnd) {
  // Launch 0..2; kernel 3..13; the synchronization begins at 2, and returns at 13 + 2.
  const Times times = natively(program({launch(first, 10), sync(first)}));
  EXPECT_NEAR(times.end[0], 2 * us, tolerance);
  EXPECT_NEAR(times.work[0], 3 * us, tolerance);
  EXPECT_NEAR(times.work_done[0], 13 * us, tolerance);
  EXPECT_NEAR(times.begin[1], 2 * us, tolerance);
  EXPECT_NEAR(times.end[1], 15 * us, tolerance);
  EXPECT_TRUE(std::isnan(times.work[1]));
}

TEST(Direct, ASynchronizationWithNothingToWaitForCostsItsOwnTime) {
  const Times times = natively(program({sync(first)}));
  EXPECT_NEAR(times.end[0], 1 * us, tolerance);
}

TEST(Direct, GapsOfTheHostPassBetweenCalls) {
  Call late = launch(first, 1);
  late.gap = 7;
  // 0..2, then 7 of the host: 9..11.
  const Times times = natively(program({launch(first, 1), late}));
  EXPECT_NEAR(times.begin[1], 9 * us, tolerance);
}

TEST(Direct, KernelsOfOneStreamFollowOneAnother) {
  Call next = launch(first, 10);
  next.delay = 0.5;
  // 3..13; the second, asked for at 2, could begin at 5, and begins 0.5 behind the first.
  const Times times = natively(program({launch(first, 10), next}));
  EXPECT_NEAR(times.work[1], 13.5 * us, tolerance);
}

TEST(Direct, ACopyAndAKernelOfTwoStreamsOverlap) {
  const Times times = natively(program({launch(apart, 10), copy(other, Direction::h2d, 10)}));
  EXPECT_NEAR(times.work[1], 5 * us, tolerance);
  EXPECT_NEAR(times.work_done[1], 15 * us, tolerance);
}

TEST(Direct, CopiesOfOneDirectionTakeTurnsInTheOrderInWhichTheyAreReady) {
  // The first copy waits for its kernel until 103; the second is ready before it.
  const Times times = natively(program(
      {launch(apart, 100), copy(apart, Direction::d2h, 10), copy(other, Direction::d2h, 10)}));
  EXPECT_NEAR(times.work[2], 7 * us, tolerance);
  EXPECT_NEAR(times.work[1], 103 * us, tolerance);
}

TEST(Direct, KernelsThatFitBesideOneAnotherAreNotSlowed) {
  const Times times = natively(program({launch(apart, 10, 0.5), launch(other, 10, 0.5)}));
  EXPECT_NEAR(times.work_done[0], 13 * us, tolerance);
  EXPECT_NEAR(times.work_done[1], 15 * us, tolerance);
}

TEST(Direct, KernelsThatDoNotFitShareTheDevice) {
  // From 3 alone, from 5 both at half speed: the first has 8 left, which take 16, to 21; the second
  // has then done 8 of 10 and needs 2 more.
  const Times times = natively(program({launch(apart, 10), launch(other, 10)}));
  EXPECT_NEAR(times.work_done[0], 21 * us, tolerance);
  EXPECT_NEAR(times.work_done[1], 23 * us, tolerance);
}

TEST(Direct, TheLegacyStreamAndBlockingStreamsWaitForOneAnother) {
  // 3..13 in a blocking stream, then the default one's 13..23, then another blocking stream's.
  const Times times =
      natively(program({launch(first, 10), launch(legacy, 10), launch(second, 10)}));
  EXPECT_NEAR(times.work[1], 13 * us, tolerance);
  EXPECT_NEAR(times.work[2], 23 * us, tolerance);
}

TEST(Direct, NonBlockingStreamsDoNotWaitForTheLegacyOne) {
  const Times times =
      natively(program({launch(legacy, 10, 0.1), launch(apart, 10, 0.1), launch(legacy, 1, 0.1)}));
  EXPECT_NEAR(times.work[1], 5 * us, tolerance);
  EXPECT_NEAR(times.work[2], 13 * us, tolerance);
}

TEST(Direct, AStreamWaitsForAnEvent) {
  const Call record{.operation = Operation::record, .stream = apart, .cost = 1};
  const Call wait{
      .operation = Operation::wait_stream_event, .stream = other, .recording = 1, .cost = 1};
  const Times times =
      natively(program({launch(apart, 50, 0.1), record, wait, launch(other, 1, 0.1)}));
  EXPECT_NEAR(times.work[3], 53 * us, tolerance);
}

TEST(Direct, AnEventHoldsWhatWasAskedForBeforeItAndNothingElse) {
  const Call record{.operation = Operation::record, .stream = apart, .cost = 1};
  const Call wait{.operation = Operation::sync_event, .recording = 1, .cost = 1, .tail = 2};
  const Times times = natively(program({launch(apart, 10), record, launch(apart, 100), wait}));
  EXPECT_NEAR(times.end[3], 15 * us, tolerance);
}

TEST(Direct, AnEventThatWasNeverRecordedHoldsNothing) {
  const Call wait{.operation = Operation::sync_event, .cost = 1, .tail = 2};
  EXPECT_NEAR(natively(program({launch(apart, 10), wait})).end[1], 3 * us, tolerance);
}

TEST(Direct, AThreadWaitsForTheRecordingThatAnotherHasYetToAskFor) {
  Call late = launch(apart, 10);
  late.gap = 20;
  const Call record{.operation = Operation::record, .stream = apart, .cost = 1};
  const Call wait{.operation = Operation::sync_event, .thread = 1, .recording = 1, .tail = 2};
  // Launch 20..22, kernel 23..33, record 22..23.
  const Times times = natively(program({late, record, wait}, 2));
  EXPECT_NEAR(times.end[2], 35 * us, tolerance);
}

TEST(Direct, ABlockingCopyDownReturnsWhenItIsDone) {
  // Kernel 3..13, copy asked for at 2, 13..23, and 1 until the host sees it.
  const Times times =
      natively(program({launch(legacy, 10), copy(legacy, Direction::d2h, 10, true)}));
  EXPECT_NEAR(times.end[1], 24 * us, tolerance);
}

TEST(Direct, ABlockingCopyUpFromPageableMemoryWaitsForItsStreamAndReturnsWhenStaged) {
  // Kernel 3..13; then 2 for the host, while the copy itself begins at 13 + 3.
  const Times times = natively(
      program({launch(legacy, 10), copy(legacy, Direction::h2d, 10, true, Memory::pageable)}));
  EXPECT_NEAR(times.end[1], 15 * us, tolerance);
  EXPECT_NEAR(times.work[1], 16 * us, tolerance);
}

TEST(Direct, ABlockingCopyUpFromPinnedMemoryReturnsWhenDone) {
  const Times times =
      natively(program({launch(legacy, 10), copy(legacy, Direction::h2d, 10, true)}));
  EXPECT_NEAR(times.end[1], 24 * us, tolerance);
}

TEST(Direct, ADeviceIsWaitedForWithAllItsStreams) {
  const Call wait{.operation = Operation::sync_device, .cost = 1, .tail = 2};
  const Times times = natively(program({launch(apart, 100, 0.1), launch(first, 10, 0.1), wait}));
  EXPECT_NEAR(times.end[2], 105 * us, tolerance);
}

TEST(Direct, AFullQueueHoldsTheHost) {
  Path path;
  path.queue = 2;
  // Kernels 3..13, 13..23, 23..33. The third launch waits for the first to end.
  const Times times =
      simulate(program({launch(first, 10), launch(first, 10), launch(first, 10)}), path);
  EXPECT_NEAR(times.end[1], 4 * us, tolerance);
  EXPECT_NEAR(times.end[2], 15 * us, tolerance);
}

TEST(Direct, WorkBehindAnotherEnginesSeesItsEndAtTicks) {
  Path path;
  path.tick = 8 * us;
  // Kernel 3..16; the copy, asked for at 2, could begin at 5, and looks at 5, 13 and 21.
  EXPECT_NEAR(simulate(program({launch(apart, 13), copy(apart, Direction::d2h, 1)}), path).work[1],
              21 * us, tolerance);
  // Copy 3..18; the kernel, asked for at 2, looks first 2.8 us after it could begin: at 7.8, 15.8
  // and 23.8. One of the same engine sees it at once.
  EXPECT_NEAR(simulate(program({copy(apart, Direction::h2d, 15), launch(apart, 1)}), path).work[1],
              23.8 * us, tolerance);
  EXPECT_NEAR(simulate(program({launch(apart, 5), launch(apart, 1)}), path).work[1], 8 * us,
              tolerance);
}

TEST(Direct, WhatEndsJustAtATickIsSeenThenOrATickLater) {
  Path path;
  path.tick = 8 * us;
  // Kernel 3..13, just as the copy looks: 13 or 21, as likely one as the other.
  EXPECT_NEAR(simulate(program({launch(apart, 10), copy(apart, Direction::d2h, 1)}), path).work[1],
              17 * us, tolerance);
}

TEST(Direct, WhatWasDoneBeforeItWasAskedForIsNotWaitedFor) {
  Path path;
  path.tick = 8 * us;
  Call late = launch(apart, 1);
  late.gap = 20;
  // Copy 3..8; the kernel is asked for at 22.
  EXPECT_NEAR(simulate(program({copy(apart, Direction::h2d, 5), late}), path).work[1], 25 * us,
              tolerance);
}

TEST(Direct, AnEventDoesNotHideWhichEngineIsWaitedFor) {
  Path path;
  path.tick = 8 * us;
  const Call record{.operation = Operation::record, .stream = apart};
  const Call wait{.operation = Operation::wait_stream_event, .stream = other, .recording = 1};
  // The kernel 3..16; the copy, asked for at 2, looks at 5, 13 and 21. A kernel does not.
  EXPECT_NEAR(
      simulate(program({launch(apart, 13), record, wait, copy(other, Direction::d2h, 1)}), path)
          .work[3],
      21 * us, tolerance);
  EXPECT_NEAR(simulate(program({launch(apart, 13), record, wait, launch(other, 1)}), path).work[3],
              16 * us, tolerance);
}

TEST(Direct, WhatIsNoProgramIsRefused) {
  Program bad = program({launch(first, 10)});
  bad.stream[0] = 99;
  EXPECT_THROW(natively(bad), std::invalid_argument);
  bad = program({launch(first, 10)});
  bad.seconds.clear();
  EXPECT_THROW(natively(bad), std::invalid_argument);
  bad = program({launch(first, -1)});
  EXPECT_THROW(natively(bad), std::invalid_argument);
}

TEST(Direct, ThreadsThatWaitForOneAnotherInACircleAreRefused) {
  const auto record = [](std::int32_t thread) {
    return Call{.operation = Operation::record, .thread = thread, .stream = apart};
  };
  const auto wait = [](std::int32_t thread, std::int32_t recording) {
    return Call{.operation = Operation::sync_event, .thread = thread, .recording = recording};
  };
  EXPECT_THROW(natively(program({wait(0, 3), record(0), wait(1, 1), record(1)}, 2)),
               std::invalid_argument);
}

}  // namespace
}  // namespace gpucast::replay
