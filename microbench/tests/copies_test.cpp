#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "copies/copy.h"

namespace gpucast::microbench {
namespace {

using records::Route;

TEST(Copy, RoutesFollowFromThePlaces) {
  EXPECT_EQ(route({.from = host, .to = 3}), Route::h2d);
  EXPECT_EQ(route({.from = 3, .to = host}), Route::d2h);
  EXPECT_EQ(route({.from = 1, .to = 1}), Route::local);
  EXPECT_EQ(route({.from = 1, .to = 2}), Route::peer);
  Copy staged{.from = 1, .to = 2};
  staged.staged = true;
  EXPECT_EQ(route(staged), Route::staged);
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
  int odd = 0;
  for (const std::int64_t size : sizes)
    odd += size % 2 == 1 && size > 1 ? 1 : 0;
  EXPECT_EQ(odd, 14);  // 95 to 786431
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
