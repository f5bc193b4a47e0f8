#include "measure/suite.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>

#include "measure/sample.h"

namespace gpucast::microbench {
namespace {

Suite suite_of(int gpus) {
  Suite suite;
  for (int k = 0; k < gpus; ++k)
    suite.devices.push_back(k);
  suite.memories = {records::Memory::pinned, records::Memory::pageable};
  suite.largest = 1 << 20;
  suite.together = 1 << 16;
  suite.together_between = 1 << 17;
  suite.skeleton = 1 << 14;
  suite.loop = 1 << 12;
  suite.gpus = true;
  return suite;
}

TEST(Suite, AsksEachQuestionOnce) {
  for (const int gpus : {1, 2, 4}) {
    std::set<std::string> asked;
    for (const Cell& cell : cells_of(schema::all<Question>(), suite_of(gpus)))
      EXPECT_TRUE(asked.insert(describe(cell)).second) << describe(cell);
    EXPECT_GT(asked.size(), 100U);
  }
}

TEST(Suite, NeverQueuesWhatBlocks) {
  for (const Cell& cell : cells_of(schema::all<Question>(), suite_of(4))) {
    const auto* transfer = std::get_if<TransferCell>(&cell);
    if (transfer == nullptr || transfer->method != records::TransferMethod::gated) continue;
    for (const Copy& copy : transfer->copies) {
      EXPECT_FALSE(copy.staged) << describe(cell);
      if (copy.from == host || copy.to == host) {
        EXPECT_NE(copy.memory, records::Memory::pageable) << describe(cell);
      }
    }
  }
}

TEST(Suite, TimesRowsOfLaunchesAndWaitsForNothing) {
  std::set<std::string> asked;
  for (const Cell& cell : cells_of(std::array{Question::launches}, suite_of(1)))
    asked.insert(describe(cell));
  for (const char* const method :
       {"row of 16", "row of 256", "drain of 16", "drain of 256", "idle", "rest"})
    EXPECT_TRUE(asked.contains(std::string("launch on gpu0, ") + method)) << method;
}

TEST(Suite, MeasuresEveryTwoCopiesTogether) {
  std::set<std::string> pairs;
  for (const Cell& cell :
       cells_of(std::array{Question::concurrent, Question::overlap}, suite_of(3))) {
    const auto* transfer = std::get_if<TransferCell>(&cell);
    if (transfer != nullptr && transfer->copies.size() == 2) pairs.insert(describe(cell));
  }
  // 3 up, 3 down and 3 between: each beside each other. There and back: with the host and between
  // two of large copies, each first; between 0 and 1, 0 and 2. 0 to both others, both to 0, 0 to
  // both by their reads.
  EXPECT_EQ(pairs.size(), 9U * 8U + 2U + 2U + 2U + 3U);
}

// Many devices have more pairs than a budget may reach.
TEST(Suite, AsksForAllHostLinksTogetherBeforeEveryTwo) {
  int pairs = 0;
  int all_up = -1;
  int all_down = -1;
  for (const Cell& cell :
       cells_of(std::array{Question::concurrent, Question::overlap}, suite_of(8))) {
    const auto* transfer = std::get_if<TransferCell>(&cell);
    if (transfer == nullptr) continue;
    const auto& copies = transfer->copies;
    pairs += copies.size() == 2 ? 1 : 0;
    if (copies.size() != 8) continue;
    const auto from_host = [](const Copy& copy) { return copy.from == host; };
    const auto to_host = [](const Copy& copy) { return copy.to == host; };
    if (std::ranges::all_of(copies, from_host)) all_up = pairs;
    if (std::ranges::all_of(copies, to_host)) all_down = pairs;
  }
  EXPECT_GT(pairs, 24 * 23);
  for (const int before : {all_up, all_down}) {
    EXPECT_GE(before, 0);
    EXPECT_LT(before, 24);
  }
}

TEST(Suite, SkeletonsGoFromOneDeviceToAll) {
  std::map<int, int> cells;
  for (const Cell& cell : cells_of(schema::all<Question>(), suite_of(6))) {
    const auto* skeleton = std::get_if<SkeletonCell>(&cell);
    if (skeleton == nullptr) continue;
    const StepShape& shape = skeleton->shape;
    ++cells[shape.gpus()];
    // Positions there, forces back: 16 and 12 bytes a particle.
    EXPECT_NEAR(static_cast<double>(shape.d2h_bytes * shape.gpus()),
                static_cast<double>(shape.h2d_bytes) * 3 / 4, shape.gpus());
    // A queued copy of pageable memory would block.
    if (shape.schedule == records::Schedule::star_async) {
      EXPECT_EQ(shape.memory, records::Memory::pinned);
    }
  }
  // 4, 8, 16 KiB; four kernels; star-serial by both memories, star-async.
  const std::map<int, int> expected{{1, 36}, {2, 36}, {3, 36}, {4, 36}, {6, 36}};
  EXPECT_EQ(cells, expected);
}

TEST(Suite, OneDeviceHasNobodyToCopyTo) {
  for (const Cell& cell : cells_of(schema::all<Question>(), suite_of(1))) {
    const auto* transfer = std::get_if<TransferCell>(&cell);
    if (transfer == nullptr) continue;
    for (const Copy& copy : transfer->copies)
      EXPECT_TRUE(copy.from == host || copy.to == host || copy.from == copy.to);
  }
}

TEST(Budget, GivesWhatIsLeftToTheRest) {
  Budget budget(60, 100);
  EXPECT_NEAR(budget.next(0), 0.9, 1e-12);
  for (int k = 0; k < 50; ++k)
    budget.done();
  EXPECT_NEAR(budget.next(10), 1.5, 1e-12);
  EXPECT_EQ(budget.next(60), 0);
  EXPECT_EQ(budget.next(61), 0);
}

TEST(Budget, MayBeWithoutEnd) {
  const Budget budget(0, 100);
  EXPECT_GT(budget.next(1e6), 0);
}

}  // namespace
}  // namespace gpucast::microbench
