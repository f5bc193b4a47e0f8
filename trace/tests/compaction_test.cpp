#include "compaction.h"

#include <gtest/gtest.h>

#include <sstream>

#include "record_text.h"

namespace gpucast::trace {
namespace {

// No test writes a table, so that no file is made.
class CompactionTest : public testing::Test {
 protected:
  void add(const std::string& line) {
    const std::vector<std::byte> bytes = fake::record_from_text(line);
    // CUPTI's buffers are aligned to 8 bytes, and so are vectors of bytes.
    compaction.add(*reinterpret_cast<const CUpti_Activity*>(bytes.data()));
  }
  [[nodiscard]] std::string name(std::uint32_t id) const {
    return id == 0 ? "" : tables.names.rows().at(id - 1).text;
  }

  Tables tables{"/nowhere"};
  Compaction compaction{
      tables, [](CUpti_CallbackDomain domain, CUpti_CallbackId id) {
        const bool runtime = domain == CUPTI_CB_DOMAIN_RUNTIME_API;
        if (id == 50) return std::string("cudaEventQuery_v3020");
        return id == 99 ? "" : (runtime ? "cudaCall" : "cuCall") + std::to_string(id) + "_v3020";
      }};
};

TEST_F(CompactionTest, KeepsCallsOfTheRuntime) {
  add("runtime start=10 end=30 correlationId=5 threadId=77 cbid=4 returnValue=2");
  compaction.settle(true);
  ASSERT_EQ(tables.calls.rows().size(), 1U);
  const Call& call = tables.calls.rows()[0];
  EXPECT_EQ(call.start_ns, 10);
  EXPECT_EQ(call.end_ns, 30);
  EXPECT_EQ(call.correlation, 5U);
  EXPECT_EQ(call.thread, 0);
  EXPECT_EQ(call.result, 2);
  EXPECT_EQ(name(call.name), "cudaCall4");
}

TEST_F(CompactionTest, NumbersThreadsInTheOrderOfTheirFirstCalls) {
  add("runtime start=1 end=2 threadId=900");
  add("runtime start=1 end=2 threadId=5 cbid=5");
  add("runtime start=3 end=4 threadId=900");
  compaction.settle(true);
  for (const Call& call : tables.calls.rows())
    EXPECT_EQ(call.thread, name(call.name) == "cudaCall5" ? 1 : 0);
}

TEST_F(CompactionTest, LeavesOutWhatTheRuntimeAsksOfTheDriverWhicheverRecordComesFirst) {
  add("driver start=12 end=14 correlationId=6");
  add("driver start=15 end=18 correlationId=7");
  add("runtime start=10 end=20 correlationId=5 cbid=1");
  add("runtime start=30 end=40 correlationId=8 cbid=1");
  add("driver start=32 end=34 correlationId=9");
  compaction.settle(true);
  ASSERT_EQ(tables.calls.rows().size(), 2U);
  EXPECT_EQ(compaction.counts().inner, 3U);
}

TEST_F(CompactionTest, LeavesOutWhatTheRuntimeAsksOfItself) {
  add("runtime start=12 end=14 correlationId=6 cbid=2");
  add("runtime start=10 end=20 correlationId=5 cbid=1");
  compaction.settle(true);
  ASSERT_EQ(tables.calls.rows().size(), 1U);
  EXPECT_EQ(tables.calls.rows()[0].correlation, 5U);
}

TEST_F(CompactionTest, KeepsDriverCallsThatTheProgramMakesItself) {
  add("driver start=1 end=9 correlationId=6 cbid=2");
  add("runtime start=10 end=20 correlationId=5 cbid=1");
  add("driver start=21 end=22 correlationId=7 cbid=2");
  compaction.settle(true);
  ASSERT_EQ(tables.calls.rows().size(), 3U);
  EXPECT_EQ(compaction.counts().inner, 0U);
}

TEST_F(CompactionTest, KeepsADriverCallWithinARuntimeCallOfAnotherThread) {
  add("runtime start=10 end=20 correlationId=5 threadId=1");
  add("driver start=12 end=14 correlationId=6 threadId=2");
  compaction.settle(true);
  EXPECT_EQ(tables.calls.rows().size(), 2U);
}

TEST_F(CompactionTest, PassesOnADriverCallAtTheSecondSettlement) {
  add("driver start=12 end=14 correlationId=6");
  compaction.settle(false);
  EXPECT_TRUE(tables.calls.rows().empty());
  compaction.settle(false);
  EXPECT_EQ(tables.calls.rows().size(), 1U);
}

// The runtime's call 50 is cudaEventQuery.
std::string query(int number, int result, int thread = 1) {
  std::ostringstream line;
  line << "runtime start=" << number << "0 end=" << number << "4 correlationId=" << number
       << " threadId=" << thread << " cbid=50 returnValue=" << result;
  return line.str();
}

TEST_F(CompactionTest, KeepsTheFirstAndTheLastOfQueriesThatFindNothingDone) {
  for (int number = 1; number <= 5; ++number)
    add(query(number, 600));
  add(query(6, 0));
  add(query(7, 600));
  add(query(8, 600));
  compaction.settle(true);
  std::vector<std::uint32_t> kept;
  for (const Call& call : tables.calls.rows())
    kept.push_back(call.correlation);
  EXPECT_EQ(kept, (std::vector<std::uint32_t>{1, 5, 6, 7, 8}));
  EXPECT_EQ(compaction.counts().polls, 3U);
  EXPECT_EQ(compaction.counts().calls, 5U);
}

TEST_F(CompactionTest, KeepsAllQueriesOfThreadsThatDoOtherThingsInBetween) {
  for (int number = 1; number <= 4; ++number) {
    add(query(number, 600, 1));
    add(query(number, 600, 2));
    std::ostringstream other;
    other << "runtime start=" << number << "5 end=" << number << "9 threadId=2 cbid=51";
    add(other.str());
  }
  compaction.settle(true);
  EXPECT_EQ(tables.calls.rows().size(), 2U + 8U);
}

TEST_F(CompactionTest, GivesWorkOfAnInnerCallToTheOuterOne) {
  add("driver start=12 end=14 correlationId=6");
  add("runtime start=10 end=20 correlationId=5 cbid=1");
  add("kernel start=30 end=40 correlationId=6");
  EXPECT_EQ(tables.work.rows().at(0).correlation, 5U);
}

TEST_F(CompactionTest, DescribesKernels) {
  add("kernel start=30 end=40 correlationId=6 deviceId=1 contextId=2 streamId=13 gridX=3 gridY=4 "
      "blockX=32 blockY=2 staticSharedMemory=100 dynamicSharedMemory=28 registersPerThread=40 "
      "graphId=4 graphNodeId=17179869185 name=_Z4axpyPf");
  const Work& work = tables.work.rows().at(0);
  EXPECT_EQ(work.kind, static_cast<int>(WorkKind::kernel));
  EXPECT_EQ(work.start_ns, 30);
  EXPECT_EQ(work.end_ns, 40);
  EXPECT_EQ(work.device, 1);
  EXPECT_EQ(work.context, 2);
  EXPECT_EQ(work.stream, 13U);
  EXPECT_EQ(work.blocks, 12U);
  EXPECT_EQ(work.threads, 64U);
  EXPECT_EQ(work.shared_bytes, 128U);
  EXPECT_EQ(work.registers, 40U);
  EXPECT_EQ(work.graph, 4U);
  EXPECT_EQ(work.node, 17179869185U);
  EXPECT_EQ(name(work.name), "axpy(float*)");
}

TEST_F(CompactionTest, DescribesCopies) {
  add("copy start=30 end=40 correlationId=6 copyKind=2 srcKind=3 dstKind=1 flags=1 bytes=4");
  add("peer-copy start=30 end=40 copyKind=10 bytes=5000000000 srcDeviceId=1 dstDeviceId=3");
  const Work& copy = tables.work.rows().at(0);
  EXPECT_EQ(copy.kind, static_cast<int>(WorkKind::copy));
  EXPECT_EQ(copy.direction, 2);
  EXPECT_EQ(copy.from_memory, 3);
  EXPECT_EQ(copy.to_memory, 1);
  EXPECT_EQ(copy.asynchronous, 1);
  EXPECT_EQ(copy.bytes, 4);
  const Work& peer = tables.work.rows().at(1);
  EXPECT_EQ(peer.bytes, 5000000000);
  EXPECT_EQ(peer.from_device, 1);
  EXPECT_EQ(peer.to_device, 3);
  EXPECT_EQ(peer.asynchronous, 0);
}

TEST_F(CompactionTest, DescribesMemsetsAndWholeGraphs) {
  add("memset start=30 end=40 bytes=64 memoryKind=3 flags=1");
  add("graph start=50 end=60 graphId=9");
  EXPECT_EQ(tables.work.rows().at(0).kind, static_cast<int>(WorkKind::memset));
  EXPECT_EQ(tables.work.rows().at(0).to_memory, 3);
  EXPECT_EQ(tables.work.rows().at(1).kind, static_cast<int>(WorkKind::graph));
  EXPECT_EQ(tables.work.rows().at(1).graph, 9U);
}

TEST_F(CompactionTest, CountsWorkWithoutTimesAndLeavesItOut) {
  add("kernel correlationId=6");
  EXPECT_TRUE(tables.work.rows().empty());
  EXPECT_EQ(compaction.counts().untimed, 1U);
}

TEST_F(CompactionTest, JoinsWaitsToTheRecordingOfTheirEvent) {
  add("event correlationId=1 contextId=1 streamId=13 eventId=4 cudaEventSyncId=21");
  add("wait type=2 start=5 end=6 correlationId=2 contextId=1 streamId=14 cudaEventId=4 "
      "cudaEventSyncId=21");
  add("wait type=4 start=7 end=9 correlationId=3 contextId=1");
  const std::vector<Wait>& waits = tables.waits.rows();
  EXPECT_EQ(waits.at(0).kind, static_cast<int>(WaitKind::recorded));
  EXPECT_EQ(waits.at(0).stream, 13U);
  EXPECT_EQ(waits.at(1).kind, static_cast<int>(WaitKind::stream_for_event));
  EXPECT_EQ(waits.at(1).recording, waits.at(0).recording);
  EXPECT_EQ(waits.at(1).event, waits.at(0).event);
  EXPECT_EQ(waits.at(2).kind, static_cast<int>(WaitKind::device));
  EXPECT_EQ(waits.at(2).stream, 0U);
  EXPECT_EQ(waits.at(2).event, 0U);
  EXPECT_EQ(waits.at(2).recording, 0U);
}

TEST_F(CompactionTest, PairsMarkersToRangesThatNest) {
  add("marker flags=2 id=1 timestamp=10 name=step threadId=7");
  add("marker flags=2 id=2 timestamp=20 name=force domain=md threadId=7");
  add("marker flags=4 id=2 timestamp=30");
  add("marker flags=4 id=1 timestamp=40");
  add("marker flags=4 id=9 timestamp=50");            // began before the recording
  add("marker flags=2 id=3 timestamp=60 name=open");  // does not end
  add("marker flags=1 id=4 timestamp=60 name=instant");
  ASSERT_EQ(tables.ranges.rows().size(), 2U);
  const Range& inner = tables.ranges.rows()[0];
  EXPECT_EQ(name(inner.name), "force");
  EXPECT_EQ(name(inner.domain), "md");
  EXPECT_EQ(inner.start_ns, 20);
  EXPECT_EQ(inner.end_ns, 30);
  EXPECT_EQ(name(tables.ranges.rows()[1].name), "step");
}

TEST_F(CompactionTest, KnowsTheDeviceOfAStreamByItsContextWhicheverRecordComesFirst) {
  add("stream contextId=2 streamId=13 flag=2");
  add("context contextId=2 deviceId=1 nullStreamId=7");
  add("stream contextId=2 streamId=14 flag=1");
  add("stream contextId=2 streamId=7 flag=3");  // already known
  compaction.settle(false);
  const std::vector<Stream>& streams = tables.streams.rows();
  ASSERT_EQ(streams.size(), 3U);
  EXPECT_EQ(streams[0].stream, 7U);
  EXPECT_EQ(streams[0].flags, 3);
  EXPECT_EQ(streams[1].stream, 14U);
  EXPECT_EQ(streams[2].stream, 13U);
  EXPECT_EQ(streams[2].flags, 2);
  for (const Stream& stream : streams)
    EXPECT_EQ(stream.device, 1);
}

TEST_F(CompactionTest, NamesACallThatCuptiDoesNotKnowByItsNumber) {
  add("runtime start=1 end=2 cbid=99");
  compaction.settle(true);
  EXPECT_EQ(name(tables.calls.rows().at(0).name), "cuda#99");
}

TEST(CompactionFrom, LeavesOutWhatBeganEarlierButKeepsStreams) {
  Tables tables{"/nowhere"};
  Compaction compaction{tables, [](auto, auto) { return "cudaCall"; }, 100};
  for (const char* line :
       {"runtime start=90 end=99", "runtime start=100 end=120", "kernel start=99 end=120",
        "kernel start=100 end=120", "context contextId=1 nullStreamId=7"}) {
    const std::vector<std::byte> bytes = fake::record_from_text(line);
    compaction.add(*reinterpret_cast<const CUpti_Activity*>(bytes.data()));
  }
  compaction.settle(true);
  EXPECT_EQ(tables.calls.rows().size(), 1U);
  EXPECT_EQ(tables.work.rows().size(), 1U);
  EXPECT_EQ(tables.streams.rows().size(), 1U);
}

// ---- structs of other versions of CUPTI ----

// CUPTI fills the struct of its own version. Those of 12.8 and 12.9 have to begin like those of
// 13.0, which compaction.cpp reads. The offsets in the headers of 13.1 to 13.5 show that theirs do,
// too (Kernel11 to 13, Memcpy7, Memset5, CudaEvent3, Context4).
#define GPUCAST_SAME_PLACE(field) \
  static_assert(offsetof(CUpti_ActivityKernel9, field) == offsetof(CUpti_ActivityKernel10, field))

GPUCAST_SAME_PLACE(registersPerThread);
GPUCAST_SAME_PLACE(start);
GPUCAST_SAME_PLACE(end);
GPUCAST_SAME_PLACE(deviceId);
GPUCAST_SAME_PLACE(contextId);
GPUCAST_SAME_PLACE(streamId);
GPUCAST_SAME_PLACE(gridX);
GPUCAST_SAME_PLACE(blockZ);
GPUCAST_SAME_PLACE(staticSharedMemory);
GPUCAST_SAME_PLACE(dynamicSharedMemory);
GPUCAST_SAME_PLACE(correlationId);
GPUCAST_SAME_PLACE(name);
GPUCAST_SAME_PLACE(graphNodeId);
GPUCAST_SAME_PLACE(graphId);
// These are the documented offsets.
static_assert(offsetof(CUpti_ActivityKernel10, start) == 16);
static_assert(offsetof(CUpti_ActivityMemcpy6, bytes) == 8);
static_assert(sizeof(CUpti_ActivityAPI) == 40);
static_assert(sizeof(CUpti_ActivitySynchronization2) == 56);

}  // namespace
}  // namespace gpucast::trace
