#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <future>

#include "app/plan.h"
#include "gpucast/support/errors.h"

namespace gpucast::mdapp {
namespace {

class Cells : public ::testing::Test {
 protected:
  void TearDown() override { std::filesystem::remove(path_); }

  // What is read of a file of these lines.
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
      const std::string said = error.what();
      EXPECT_TRUE(said.starts_with(path_.string()));
      return said.substr(path_.string().size());
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

// What a program waits for that was asked to stop while nobody asks it for a cell.
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

// Each process gets what the first one read; here a fake in the place of the others.
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
