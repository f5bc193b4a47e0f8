#include "app/plan.h"

#include <gtest/gtest.h>

#include "contains.h"
#include "fake_engine.h"
#include "gpucast/support/errors.h"

namespace gpucast::mdapp {
namespace {

using test::contains;

Grid small_grid() {
  return {.n = {8, 64},
          .gpus = {1, 2},
          .schedules = {Schedule::star_serial, Schedule::star_async},
          .kernels = {KernelName::claret, KernelName::tuned},
          .memories = {Memory::pageable, Memory::pinned}};
}

std::vector<Cell> plan_of(const Grid& grid, const Physics& physics = {},
                          const test::FakeEngine& engine = test::FakeEngine(2)) {
  Processes one;
  return plan(grid, physics, engine, one);
}

std::string refusal_of(const Grid& grid, const Physics& physics = {},
                       const test::FakeEngine& engine = test::FakeEngine(2)) {
  try {
    plan_of(grid, physics, engine);
  } catch (const support::InputError& error) {
    return error.what();
  }
  return "nothing was refused";
}

TEST(Plan, HoldsEveryCombination) {
  // star-serial with both kinds of memory, star-async with pinned memory alone.
  EXPECT_EQ(plan_of(small_grid()).size(), 3U * 2 * 2 * 2);
}

TEST(Plan, GivesOnlyStarSerialAChoiceOfMemory) {
  for (const Cell& cell : plan_of(small_grid())) {
    if (cell.schedule.name == Schedule::star_async) {
      EXPECT_EQ(cell.schedule.memory, Memory::pinned);
    }
  }
}

TEST(Plan, SplitsOnlyTheTunedKernelsSums) {
  Grid grid = small_grid();
  grid.j_split = 4;
  for (const Cell& cell : plan_of(grid)) {
    EXPECT_EQ(cell.schedule.kernel.j_split, cell.schedule.kernel.name == KernelName::tuned ? 4 : 0);
  }
}

TEST(Plan, DescribesACellByWhatTellsItFromOthers) {
  const auto cells = plan_of(small_grid());
  EXPECT_EQ(describe(cells[0]), "n=8 gpus=1 star-serial claret pageable");
  EXPECT_EQ(describe(cells[1]), "n=8 gpus=2 star-serial claret pageable");
}

TEST(Plan, RefusesMoreGpusThanPresentAnywhereInTheGrid) {
  Grid grid = small_grid();
  grid.gpus = {1, 2, 3};
  EXPECT_EQ(refusal_of(grid), "--gpus: 3 wanted, 2 GPUs present");
}

TEST(Plan, SaysHowMuchMemoryIsNeededAndHowMuchThereIs) {
  Grid grid = small_grid();
  grid.n = {8, 100000};
  EXPECT_EQ(refusal_of(grid), "--n: 100000 is too large: GPU 0 needs 1.5 MiB, 1.0 MiB are free");
}

TEST(Plan, RefusesWhatTheHostCannotHold) {
  if (host_bytes_free() > 172L * most_particles) GTEST_SKIP() << "this host can hold them";
  Grid grid = small_grid();
  grid.n = {most_particles};
  EXPECT_TRUE(contains(refusal_of(grid, {}, test::FakeEngine(2, INT64_MAX)),
                       "--n: 1000000000 is too large: the host needs 160.2 GiB"));
}

TEST(Plan, RefusesABlockThatTheKernelCannotHave) {
  Grid grid = small_grid();
  grid.block = 100;
  EXPECT_EQ(refusal_of(grid), "--kernel claret: a block is whole warps");
}

TEST(Plan, RefusesToRecordBlockingCopies) {
  Grid grid = small_grid();
  grid.graph = true;
  EXPECT_EQ(refusal_of(grid), "--graph: the copies of star-serial block and cannot be recorded");
}

TEST(Plan, RefusesACutoffThatTheSmallestBoxCannotHave) {
  Physics physics;
  physics.around = {.kind = BoundaryKind::dsf, .cutoff = 9e-10};
  Grid grid = small_grid();
  grid.n = {4096, 8};
  EXPECT_TRUE(contains(refusal_of(grid, physics), "--cutoff: the cut-off of 9.0"));
  grid.n = {4096};
  EXPECT_EQ(plan_of(grid, physics).size(), 3U * 2 * 2);
}

TEST(Plan, NeedsAProcessForEachGpuOfTheScheduleMpi) {
  Grid grid = small_grid();
  grid.schedules = {Schedule::mpi};
  EXPECT_EQ(refusal_of(grid), "--gpus: 2 need as many processes, and 1 was started (mpirun, srun)");
}

TEST(Words, AListHoldsEachWordOnceInTheOrderGiven) {
  EXPECT_EQ(support::parse_words<KernelName>("--kernel", "tuned,claret,tuned"),
            (std::vector{KernelName::tuned, KernelName::claret}));
}

TEST(Words, AnUnknownWordIsRefusedWithTheKnownOnes) {
  try {
    support::parse_words<KernelName>("--kernel", "claret,fast");
    FAIL();
  } catch (const support::InputError& error) {
    EXPECT_TRUE(contains(error.what(), "\"fast\""));
    EXPECT_TRUE(contains(error.what(), "claret, tuned"));
  }
}

}  // namespace
}  // namespace gpucast::mdapp
