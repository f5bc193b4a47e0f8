// Schedules worked out by hand: what calls cost that are forwarded to a server.
#include <gtest/gtest.h>

#include "gpucast/replay/simulate.h"
#include "made.h"

namespace gpucast::replay {
namespace {

using namespace made;

Times remotely(const Program& program) { return simulate(program, forwarding(program)); }
Times waiting(const Program& program) {
  return simulate(program, forwarding(program, Transport::synchronous));
}

TEST(Forwarded, ALaunchIsSentAndASynchronizationAnswered) {
  // Launch: the host 0..4, the wire to 5, the server from 10 to 12, the kernel from 15 to 25.
  // Synchronization: the host 4..8, at the server from 14 to 16; ready at 25, answered at 26, over
  // the wire at 27, there at 32, and 0.5 of the host.
  const Times times = remotely(program({launch(first, 10), sync(first)}));
  EXPECT_NEAR(times.end[0], 4 * us, tolerance);
  EXPECT_NEAR(times.work[0], 15 * us, tolerance);
  EXPECT_NEAR(times.end[1], 32.5 * us, tolerance);
}

TEST(Forwarded, ManyLaunchesAreLimitedByTheSlowestOnTheirWay) {
  // The host sends one every 4 us; the n-th (from 0) is at the server at 4 n + 10, and runs from
  // 4 n + 15 on.
  const std::vector<Call> calls(100, launch(first, 1));
  const Times times = remotely(program(calls));
  EXPECT_NEAR(times.work[99], (4 * 99 + 15) * us, tolerance);
  // A server that takes 9 us for each falls behind: from 10 on it does one every 9.
  const Program many = program(calls);
  Path slow = forwarding(many);
  slow.messages.serve.assign(many.size(), 9 * us);
  const Times slower = simulate(many, slow);
  EXPECT_NEAR(slower.end[99], 400 * us, tolerance);
  EXPECT_NEAR(slower.work[99], (10 + 9 * 100 + 3) * us, tolerance);
}

TEST(Forwarded, EveryCallIsARoundTripWhereAllAreAnswered) {
  // 4 + 1 + 5 there, 2 served, 1 answered, 1 + 5 back, 0.5: 19.5 each.
  const Times times = waiting(program({launch(first, 1), launch(first, 1), launch(first, 1)}));
  EXPECT_NEAR(times.end[0], 19.5 * us, tolerance);
  EXPECT_NEAR(times.end[2], 58.5 * us, tolerance);
}

TEST(Forwarded, AnAnsweredLaunchDoesNotWaitForItsKernel) {
  EXPECT_NEAR(waiting(program({launch(first, 1000)})).end[0], 19.5 * us, tolerance);
}

TEST(Forwarded, ABlockingCopyUpReturnsWhenSent) {
  const Times times =
      remotely(program({launch(first, 100), copy(first, Direction::h2d, 10, true)}));
  EXPECT_NEAR(times.end[1], 8 * us, tolerance);
}

TEST(Forwarded, ABlockingCopyUpWaitsForDataThatItsStreamStillBrings) {
  // The copy down: sent at 4, at the server 10..12, 15..25 on the GPU, answered at 26, there at 32,
  // and read by whom waits for it.
  const Times times = remotely(program(
      {copy(apart, Direction::d2h, 10), copy(apart, Direction::h2d, 10, true, Memory::pageable)}));
  EXPECT_NEAR(times.end[0], 4 * us, tolerance);
  EXPECT_NEAR(times.end[1], 32.5 * us, tolerance);
}

TEST(Forwarded, WhatAnyStreamIsGivenLaterFindsABlockingCopyDone) {
  // The copy up: at the server 10..12, 15..115 on the GPU. The kernel of another stream waits.
  const Times times = remotely(
      program({copy(apart, Direction::h2d, 100, true, Memory::pageable), launch(other, 1)}));
  EXPECT_NEAR(times.work[1], 115 * us, tolerance);
  const Times free = remotely(program({copy(apart, Direction::h2d, 100, false), launch(other, 1)}));
  EXPECT_NEAR(free.work[1], 19 * us, tolerance);
}

TEST(Forwarded, ACopyDownIntoPageableMemoryWaits) {
  // 15..25 on the GPU, 26, 27, 32, 32.5.
  const Times times = remotely(program({copy(apart, Direction::d2h, 10, false, Memory::pageable)}));
  EXPECT_NEAR(times.end[0], 32.5 * us, tolerance);
}

TEST(Forwarded, EveryCopyDownWaitsWhereAllCallsAreAnswered) {
  EXPECT_NEAR(waiting(program({copy(apart, Direction::d2h, 10)})).end[0], 32.5 * us, tolerance);
}

TEST(Forwarded, OneServerDoesOneMessageAfterAnotherAndTwoDoNotMeet) {
  // Two threads, one device: both messages reach the wire at 4; the second leaves it a us later.
  Call mine = launch(first, 1);
  Call yours = launch(second, 1);
  yours.thread = 1;
  const Times one = remotely(program({mine, yours}, 2));
  EXPECT_NEAR(one.work[0], 15 * us, tolerance);
  EXPECT_NEAR(one.work[1], 17 * us, tolerance);
  yours.device = 1;
  yours.stream = streams_each + first;
  yours.engine = engines_each + compute;
  const Times two = remotely(program({mine, yours}, 2));
  EXPECT_NEAR(two.work[1], 15 * us, tolerance);
}

TEST(Forwarded, TheHostWaitsForAnotherServersEvent) {
  const Call record{.operation = Operation::record, .stream = apart};
  const Call wait{.operation = Operation::wait_stream_event,
                  .device = 1,
                  .stream = streams_each + apart,
                  .recording = 1};
  // Kernel 15..25. The wait is sent at 12, served at 20; answered at 26, there at 32.5.
  const Times times = remotely(program({launch(apart, 10), record, wait}));
  EXPECT_NEAR(times.end[2], 32.5 * us, tolerance);
  // On the same device it is only sent.
  const Call here{.operation = Operation::wait_stream_event, .stream = other, .recording = 1};
  EXPECT_NEAR(remotely(program({launch(apart, 10), record, here})).end[2], 12 * us, tolerance);
}

TEST(Forwarded, AllocationsAreAskedForAndOtherCallsStayHere) {
  const Call alloc{.operation = Operation::alloc};
  const Call local{.operation = Operation::other};
  const Times times = remotely(program({alloc, local}));
  EXPECT_NEAR(times.end[0], 19.5 * us, tolerance);
  EXPECT_NEAR(times.end[1], 23.5 * us, tolerance);
}

TEST(Forwarded, AFreeHoldsBackWhatComesBehindItUntilTheDeviceIsDone) {
  const Call free{.operation = Operation::free};
  // Kernel 15..115; the free is with the server from 16 on, the next launch at 18, and is done
  // 2 us after 115.
  const Times times = remotely(program({launch(apart, 100), free, launch(other, 1)}));
  EXPECT_NEAR(times.end[1], 8 * us, tolerance);
  EXPECT_NEAR(times.work[2], 120 * us, tolerance);
}

TEST(Forwarded, ALargeCopyGoesOverConnectionsOfItsOwnWhileCallsGoOn) {
  Call large = copy(apart, Direction::h2d, 400);
  large.bytes = std::int64_t{1} << 20;
  const Program calls = program({large, launch(other, 1, 0.1)});
  Path path = forwarding(calls);
  path.messages.up[0] = 1000 * us;
  // From pinned memory the host is free at 4, and the data is at the server at 1009; a fourth of
  // the copy is left then: 1012..1112. The server holds the launch until all of it has come.
  const Times times = simulate(calls, path);
  EXPECT_NEAR(times.end[0], 4 * us, tolerance);
  EXPECT_NEAR(times.work_done[0], 1112 * us, tolerance);
  EXPECT_NEAR(times.work[1], (1009 + 2 + 3) * us, tolerance);
  Program pageable = calls;
  pageable.memory[0] = Memory::pageable;
  EXPECT_NEAR(simulate(pageable, path).end[0], 1004 * us, tolerance);
}

TEST(Forwarded, ALargeCopyDownComesWhileTheGpuStillCopies) {
  Call large = copy(apart, Direction::d2h, 400, true);
  large.bytes = std::int64_t{1} << 20;
  const Program calls = program({large});
  Path path = forwarding(calls);
  path.messages.down[0] = 1000 * us;
  // The GPU from 15 to 415, the wire from 15 to 1015; 5 and 0.5.
  EXPECT_NEAR(simulate(calls, path).end[0], 1020.5 * us, tolerance);
  path.messages.down[0] = 100 * us;
  // The GPU is the slower: its last fourth leaves at 416 (with 1 for the server), and takes 25.
  EXPECT_NEAR(simulate(calls, path).end[0], (416 + 25 + 5.5) * us, tolerance);
}

TEST(Forwarded, AFullSocketHoldsTheHost) {
  std::vector<Call> copies(3, copy(apart, Direction::h2d, 1));
  for (Call& each : copies)
    each.bytes = std::int64_t{1} << 20;
  const Program calls = program(copies);
  Path path = forwarding(calls);
  path.most_inline = std::int64_t{1} << 20;
  path.socket = std::int64_t{2} << 20;
  path.messages.serve.assign(calls.size(), 50 * us);
  // Two are on their way at 8; the server begins with the first at 10.
  const Times times = simulate(calls, path);
  EXPECT_NEAR(times.end[1], 8 * us, tolerance);
  EXPECT_NEAR(times.end[2], 14 * us, tolerance);
}

TEST(Forwarded, AllConnectionsShareTheLine) {
  Call mine = copy(apart, Direction::h2d, 1);
  mine.bytes = 1'000'000;
  Call yours = mine;
  yours.device = 1;
  yours.stream = streams_each + apart;
  yours.engine = engines_each + up;
  const Program calls = program({mine, yours});
  Path path = forwarding(calls);
  path.most_inline = mine.bytes;
  path.line = 1e-9;  // s a byte: each takes 1000 us and 0.128
  const Times times = simulate(calls, path);
  EXPECT_NEAR(times.work[0], (1000.128 + 1 + 5 + 2 + 3) * us, tolerance);
  EXPECT_NEAR(times.work[1], (2000.256 + 1 + 5 + 2 + 3) * us, tolerance);
}

TEST(Forwarded, LargeCopiesShareALineOfTheirOwn) {
  Call mine = copy(apart, Direction::h2d, 0);
  mine.bytes = 2'000'000;
  Call yours = mine;
  yours.device = 1;
  yours.stream = streams_each + apart;
  yours.engine = engines_each + up;
  const Program calls = program({mine, yours, launch(other, 1)});
  Path path = forwarding(calls);
  path.bulk_line = 1e-9;
  // Sent at 4 and 8; over the line at 2004 and 4004. The launch does not wait for it, but for its
  // server, which has the first copy's message before it until 2009.
  const Times times = simulate(calls, path);
  EXPECT_NEAR(times.work[0], (2004 + 5 + 3) * us, tolerance);
  EXPECT_NEAR(times.work[1], (4004 + 5 + 3) * us, tolerance);
  EXPECT_NEAR(times.work[2], (2009 + 2 + 3) * us, tolerance);
}

TEST(Forwarded, CopiesGoTheWayThatTheLayerSendsThem) {
  Call copied = copy(apart, Direction::h2d, 0);
  const auto arrives = [&](std::size_t bytes, unsigned cores) {
    copied.bytes = static_cast<std::int64_t>(bytes);
    const Program calls = program({copied});
    Path path = forwarding(calls);
    path.most_inline = static_cast<std::int64_t>(remote::usual_inline(cores));
    path.bulk_line = 1e-6;  // of large copies alone: a second a million bytes
    return simulate(calls, path).work[0];
  };
  for (const unsigned cores : {1U, 7U, 8U, 64U}) {
    const std::size_t most = remote::usual_inline(cores);
    EXPECT_LT(arrives(most, cores), 1e-3);
    EXPECT_GT(arrives(most + 1, cores), 0.04);
  }
  // And so they go unless it is said otherwise.
  EXPECT_EQ(Path{}.most_inline, remote::usual_inline(remote::cores_for_channels));
}

TEST(Forwarded, ALargeCopyAfterAPauseWakesItsThreads) {
  Call large = copy(apart, Direction::h2d, 0);
  large.bytes = 2'000'000;
  Call late = large;
  late.gap = 1000;
  const Program calls = program({large, late});
  Path path = forwarding(calls);
  path.messages.up = {100 * us, 100 * us};  // its data is there after its message
  const Times awake = simulate(calls, path);
  path.bulk_wake = 70 * us;
  path.bulk_nap = 50 * us;
  path.bulk_deep = 500 * us;
  const Times asleep = simulate(calls, path);
  EXPECT_NEAR(asleep.work[0], awake.work[0], tolerance);
  EXPECT_NEAR(asleep.work[1], awake.work[1] + 70 * us, tolerance);
  // They sleep from 104 until 1008, are awake up to 50 and deep asleep from 1758 on: by half.
  path.bulk_deep = (50 + 2 * (904 - 50)) * us;
  EXPECT_NEAR(simulate(calls, path).work[1], awake.work[1] + 35 * us, tolerance);
}

TEST(Forwarded, DataThatComesByItselfIsReadByWhoWaits) {
  const Call down = copy(apart, Direction::d2h, 10);
  Call late = sync(apart);
  late.gap = 1000;
  const Program calls = program({down, down, late});
  Path path = forwarding(calls);
  path.messages.after = {50 * us, 50 * us, 0.5 * us};
  // The data is there long before 1008. The wait is sent at 1012, then both are read, and the
  // answer, which has come meanwhile.
  EXPECT_NEAR(simulate(calls, path).end[2], (1012 + 50 + 50 + 0.5) * us, tolerance);
}

TEST(Forwarded, AServerReadsWhileTheHostStillSends) {
  const Program calls = program({copy(apart, Direction::h2d, 1), launch(other, 1)});
  Path path = forwarding(calls);
  path.messages.cost[0] = 20 * us;
  path.messages.serve[0] = 15 * us;
  path.messages.lead[0] = 10 * us;
  // All of it is there at 26, the first at 16; done at 31. A server that is busy until 31 begins
  // with the next then.
  const Times times = simulate(calls, path);
  EXPECT_NEAR(times.work[0], (31 + 3) * us, tolerance);
  EXPECT_NEAR(times.work[1], (31 + 2 + 3) * us, tolerance);
}

TEST(Forwarded, AServerKnowsAWhileLaterWhatItsGpuHasDone) {
  const Program calls = program({launch(first, 10), sync(first)});
  Path path = forwarding(calls);
  path.tail = 7 * us;
  EXPECT_NEAR(simulate(calls, path).end[1], (32.5 + 7) * us, tolerance);
}

TEST(Forwarded, AWaitThatPollsAsksAgainUntilItIsOver) {
  const Program calls = program({launch(first, 100), sync(first)});
  Path path = forwarding(calls);
  path.messages.polls[1] = 1;
  // The kernel 15..115. Questions take 19.5 each, from 4 on, and are with the server 12 after they
  // begin: the sixth, begun at 101.5, at 113.5, the seventh at 133.
  EXPECT_NEAR(simulate(calls, path).end[1], (4 + 7 * 19.5) * us, tolerance);
  path.tail = 20 * us;  // known from 135 on
  EXPECT_NEAR(simulate(calls, path).end[1], (4 + 8 * 19.5) * us, tolerance);
}

TEST(Forwarded, LargeCopiesOfBothDirectionsShareTheMemoryOfOneHost) {
  Call up = copy(apart, Direction::h2d, 0);
  up.bytes = 2'000'000;
  Call down = copy(other, Direction::d2h, 0);
  down.bytes = 2'000'000;
  const Program calls = program({down, up, sync(other)});
  Path path = forwarding(calls);
  path.bulk_line = 1e-9;
  // One goes up from 8 to 2008. The other could come from 15 on and does from 2008 to 4008.
  EXPECT_NEAR(simulate(calls, path).end[2], (4008 + 5 + 0.5) * us, tolerance);
}

TEST(Forwarded, AMessageDoesNotOvertakeAnother) {
  const Call query{.operation = Operation::query};
  const Program calls = program({launch(first, 1), query});
  Path path = forwarding(calls);
  path.messages.flight[0] = 100 * us;
  // The launch is there at 105, and so is the query, which is served when that is done.
  EXPECT_NEAR(simulate(calls, path).end[1], (105 + 2 + 2 + 1 + 1 + 5 + 0.5) * us, tolerance);
}

TEST(Forwarded, ABlockingCopyBetweenDevicesWaitsForItsStream) {
  Call peer = copy(apart, Direction::peer, 10, true, Memory::none);
  peer.engine = up;
  EXPECT_NEAR(remotely(program({peer})).end[0], 32.5 * us, tolerance);
}

TEST(Forwarded, SleepersHaveToBeWoken) {
  Call late = launch(first, 3000);
  late.gap = 5000;
  const Program calls = program({late, sync(first)});
  Path path = forwarding(calls);
  path.wake_server = 50 * us;
  path.wake_client = 70 * us;
  // The launch is sent at 5004 and there at 5010; the server is awake at 5060, has done it at 5062;
  // the kernel 5065..8065. Its answer is there at 8072, after more than 2000 us, and wakes a
  // thread.
  const Times times = simulate(calls, path);
  EXPECT_NEAR(times.work[0], 5065 * us, tolerance);
  EXPECT_NEAR(times.end[1], (8072 + 70 + 0.5) * us, tolerance);
}

TEST(Forwarded, AFullDeviceHoldsItsServer) {
  const Call query{.operation = Operation::query};
  const Program calls = program({launch(first, 100), launch(first, 100), query});
  Path path = forwarding(calls);
  path.queue = 1;
  // The second launch waits with the server until 115; the query is served then, to 117.
  const Times times = simulate(calls, path);
  EXPECT_NEAR(times.work[1], 118 * us, tolerance);
  EXPECT_NEAR(times.end[2], (117 + 1 + 1 + 5 + 0.5) * us, tolerance);
}

}  // namespace
}  // namespace gpucast::replay
