
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
  Suite suite{.devices = {},
              .memories = {records::Memory::pinned, records::Memory::pageable},
              .largest = 1 << 20,
              .together = 1 << 16,
              .together_between = 1 << 17,
              .skeleton = 1 << 14,
              .loop = 1 << 12,
              .gpus = true};
  for (int k = 0; k < gpus; ++k)
    suite.devices.push_back(k);
  return suite;
}

// The cells of one kind in several questions, or in all of them.
template <class Wanted>
std::vector<Wanted> cells_for(int gpus, std::span<const Question> questions = {}) {
  constexpr auto all = schema::all<Question>();
  std::vector<Wanted> wanted;
  for (const Cell& cell : cells_of(questions.empty() ? std::span(all) : questions, suite_of(gpus)))
    if (const auto* one = std::get_if<Wanted>(&cell)) wanted.push_back(*one);
  return wanted;
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
  for (const TransferCell& cell : cells_for<TransferCell>(4)) {
    if (cell.method != records::TransferMethod::gated) continue;
    for (const Copy& copy : cell.copies) {
      EXPECT_FALSE(copy.staged) << describe(Cell(cell));
      if (copy.from == host || copy.to == host) {
        EXPECT_NE(copy.memory, records::Memory::pageable) << describe(Cell(cell));
      }
    }
  }
}

TEST(Suite, TimesRowsOfLaunchesAndWaitsForNothing) {
  std::set<std::string> asked;
  for (const LaunchCell& cell : cells_for<LaunchCell>(1))
    asked.insert(describe(Cell(cell)));
  for (const char* const method :
       {"row of 16", "row of 256", "drain of 16", "drain of 256", "idle", "rest"})
    EXPECT_TRUE(asked.contains(std::string("launch on gpu0, ") + method)) << method;
}

TEST(Suite, MeasuresEveryTwoCopiesTogether) {
  std::set<std::string> pairs;
  for (const TransferCell& cell : cells_for<TransferCell>(3, std::array{Question::concurrent}))
    if (cell.copies.size() == 2) pairs.insert(describe(Cell(cell)));
  // 3 up, 3 down and 3 between: each beside each other. In both directions: with the host and
  // between two of large copies, each first; between 0 and 1, 0 and 2. 0 to both others, both to 0,
  // 0 to both by their reads.
  EXPECT_EQ(pairs.size(), 9U * 8U + 2U + 2U + 2U + 3U);
}

// Many devices have more pairs than a budget may cover.
TEST(Suite, AsksForAllHostLinksTogetherBeforeEveryTwo) {
  int pairs = 0;
  int all_up = -1;
  int all_down = -1;
  for (const auto& [copies, method] :
       cells_for<TransferCell>(8, std::array{Question::concurrent})) {
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
  for (const auto& [shape] : cells_for<SkeletonCell>(6)) {
    ++cells[shape.gpus()];
    // Positions are sent, forces returned: 16 and 12 bytes per particle.
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
  for (const TransferCell& cell : cells_for<TransferCell>(1))
    for (const Copy& copy : cell.copies)
      EXPECT_TRUE(copy.from == host || copy.to == host || copy.from == copy.to);
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

TEST(Copy, RoutesFollowFromThePlaces) {
  EXPECT_EQ(route({.from = host, .to = 3}), records::Route::h2d);
  EXPECT_EQ(route({.from = 3, .to = host}), records::Route::d2h);
  EXPECT_EQ(route({.from = 1, .to = 1}), records::Route::local);
  EXPECT_EQ(route({.from = 1, .to = 2}), records::Route::peer);
  Copy staged{.from = 1, .to = 2};
  staged.staged = true;
  EXPECT_EQ(route(staged), records::Route::staged);
}

TEST(Copy, MemoryIsNamedWhereTheHostTakesPart) {
  EXPECT_EQ(describe({.from = host, .to = 0}), "h2d pinned host>gpu0");
  EXPECT_EQ(describe({.from = 0, .to = 1}), "peer gpu0>gpu1");
  EXPECT_EQ(describe({.from = 0, .to = host, .engine = records::Engine::kernel}),
            "d2h pinned by a kernel gpu0>host");
}

TEST(Sizes, AreAllPowersOfTwoAndOddOnesBetweenDescending) {
  const auto sizes = all_sizes(1 << 20);
  EXPECT_TRUE(std::ranges::is_sorted(sizes, std::ranges::greater()));
  EXPECT_EQ(sizes.front(), 1 << 20);
  EXPECT_EQ(sizes.back(), 1);
  const std::set<std::int64_t> all(sizes.begin(), sizes.end());
  EXPECT_EQ(all.size(), sizes.size());
  for (std::int64_t size = 1; size <= 1 << 20; size *= 2)
    EXPECT_TRUE(all.contains(size)) << size;
  const auto odd = [](std::int64_t size) { return size % 2 == 1 && size > 1; };
  EXPECT_EQ(std::ranges::count_if(sizes, odd), 14);  // 95 to 786431
}

TEST(Sizes, QuarterStepsHaveBothAlignments) {
  const auto sizes = quarter_sizes(1 << 20);
  EXPECT_TRUE(std::ranges::is_sorted(sizes, std::ranges::greater()));
  EXPECT_EQ(std::ranges::adjacent_find(sizes), sizes.end());
  for (std::int64_t octave = 128; octave < 1 << 20; octave *= 2) {
    const auto within = [octave](std::int64_t size) { return size >= octave && size < 2 * octave; };
    const auto aligned = [&](std::int64_t size) { return within(size) && size % 16 == 0; };
    EXPECT_EQ(std::ranges::count_if(sizes, within), 9) << octave;
    EXPECT_EQ(std::ranges::count_if(sizes, aligned), 4) << octave;
  }
}

TEST(Sizes, FewAreFew) {
  EXPECT_EQ(few_sizes(1 << 20, 4), (std::vector<std::int64_t>{1 << 20, 1 << 16, 1 << 12, 1 << 8}));
}

}  // namespace
}  // namespace gpucast::microbench
