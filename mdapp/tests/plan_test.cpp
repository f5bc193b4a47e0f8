#include "app/plan.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <future>

#include "common.h"
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
  for (const Cell& cell : plan_of(small_grid()))
    if (cell.schedule.name == Schedule::star_async) {
      EXPECT_EQ(cell.schedule.memory, Memory::pinned);
    }
}

TEST(Plan, SplitsOnlyTheTunedKernelsSums) {
  Grid grid = small_grid();
  grid.j_split = 4;
  for (const Cell& cell : plan_of(grid))
    EXPECT_EQ(cell.schedule.kernel.j_split, cell.schedule.kernel.name == KernelName::tuned ? 4 : 0);
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

class Cells : public ::testing::Test {
 protected:
  void TearDown() override { std::filesystem::remove(path_); }

  // Returns the cells that are read from a file of these lines.
  std::vector<std::string> read(const std::string& text, const Grid& common = {}) {
    std::ofstream(path_) << text;
    CellLines cells(path_, common, one_, {});
    std::vector<std::string> described;
    while (const auto cell = cells.next())
      described.push_back(describe(*cell));
    return described;
  }

  // The message without the file's name.
  std::string refusal(const std::string& text) {
    try {
      read(text);
    } catch (const support::InputError& error) {
      const std::string line = error.what();
      EXPECT_TRUE(line.starts_with(path_.string()));
      return line.substr(path_.string().size());
    }
    return "nothing was refused";
  }

  std::filesystem::path path_ =
      std::filesystem::temp_directory_path() / ("cells" + std::to_string(getpid()));
  Processes one_;
};

TEST_F(Cells, AreReadInTheOrderOfTheirLines) {
  EXPECT_EQ(read("1e3 4 star-serial tuned pageable\n216 1 allgather claret pinned\n"),
            (std::vector<std::string>{"n=1000 gpus=4 star-serial tuned pageable",
                                      "n=216 gpus=1 allgather claret"}));
}

TEST_F(Cells, MayStandBetweenEmptyLinesAndComments) {
  EXPECT_EQ(read("\n  # small\n\t8  1\tstar-serial claret pinned\r\n\n").size(), 1U);
}

TEST_F(Cells, NeedNoLineEndAfterTheLast) {
  EXPECT_EQ(read("8 1 star-serial claret pinned").size(), 1U);
}

TEST_F(Cells, TakeFromTheOptionsWhatNoLineSays) {
  const Cell cell =
      parse_cell("8 1 star-async tuned pinned", "here", {.block = 64, .j_split = 3, .graph = true});
  EXPECT_EQ(cell.schedule.kernel.block, 64);
  EXPECT_EQ(cell.schedule.kernel.j_split, 3);
  EXPECT_TRUE(cell.schedule.graph);
}

TEST_F(Cells, AreRefusedWithLineAndField) {
  const std::string good = "8 1 star-serial claret pinned\n";
  EXPECT_EQ(refusal(good + "8 0 star-serial claret pinned\n"), ":2: gpus: \"0\" is less than 1");
  EXPECT_EQ(refusal(good + "\n8 1 star claret pinned\n"),
            ":3: schedule: \"star\" is none of star-serial, star-async, allgather, mpi");
  EXPECT_EQ(refusal("8 1 star-serial fast pinned\n"),
            ":1: kernel: \"fast\" is none of claret, tuned");
  EXPECT_EQ(refusal("8 1 star-async claret pageable\n"),
            ":1: memory: only star-serial has a choice; the others need pinned");
  EXPECT_EQ(refusal("8 1 star-serial claret\n"),
            ":1: 4 fields; a cell is: n gpus schedule kernel memory");
}

TEST_F(Cells, NameTheFileThatIsNotThere) {
  try {
    const CellLines cells("/no/such/file", {}, one_, {});
    FAIL();
  } catch (const support::InputError& error) {
    EXPECT_STREQ(error.what(), "--cells: /no/such/file: No such file or directory");
  }
}

// A program that is asked to stop waits for a cell that nobody sends.
TEST_F(Cells, EndWhenInterruptedInsteadOfWaiting) {
  std::array<int, 2> pipe{};
  ASSERT_EQ(::pipe(pipe.data()), 0);
  std::stop_source interrupt;
  CellLines cells("/dev/fd/" + std::to_string(pipe[0]), {}, one_, interrupt.get_token());
  auto waiting = std::async(std::launch::async, [&] { return cells.next(); });
  interrupt.request_stop();
  EXPECT_FALSE(waiting.get().has_value());
  ::close(pipe[0]);
  ::close(pipe[1]);
}

// Each process gets what the first one read, which is a fake here.
class Second : public Processes {
 public:
  explicit Second(std::vector<std::string> agreed) : agreed_(std::move(agreed)) {}
  int rank() const override { return 1; }
  int size() const override { return 2; }
  std::string agree_text(std::string own) override {
    EXPECT_EQ(own, "");
    return agreed_[given_++];
  }

 private:
  std::vector<std::string> agreed_;
  std::size_t given_ = 0;
};

TEST_F(Cells, AreTheFirstProcessesOnAllOfThem) {
  Second process({"216 2 mpi tuned pinned", ""});
  std::ofstream(path_) << "not read\n";
  CellLines cells(path_, {.block = 32}, process, {});
  const auto cell = cells.next();
  ASSERT_TRUE(cell.has_value());
  EXPECT_EQ(describe(*cell), "n=216 gpus=2 mpi tuned");
  EXPECT_EQ(cell->schedule.kernel.block, 32);
  EXPECT_FALSE(cells.next().has_value());
}

}  // namespace
}  // namespace gpucast::mdapp
