#include "gpucast/support/progress.h"

#include <gtest/gtest.h>

#include <sstream>

namespace gpucast::support {
namespace {

constexpr Progress::Style terminal{.rewrite = true, .width = 20};

TEST(Progress, PrintsALineForEachFinishedItem) {
  std::ostringstream stream;
  {
    Progress progress(stream, {}, 2);
    progress.under_way("n=216");
    progress.finished("n=216: 1 ms");
    progress.finished("n=512: 2 ms");
  }
  EXPECT_EQ(stream.str(), "[1/2] n=216: 1 ms\n[2/2] n=512: 2 ms\n");
}

TEST(Progress, RewritesItsLineOnATerminal) {
  std::ostringstream stream;
  {
    Progress progress(stream, terminal, 2);
    progress.under_way("n=216");
    progress.finished("1 s");
  }
  EXPECT_EQ(stream.str(), "\r[1/2] n=216\r[1/2] 1 s  \n");
}

TEST(Progress, NeverFillsTheLastColumnOfATerminal) {
  std::ostringstream stream;
  Progress progress(stream, terminal, 0);
  progress.under_way("a long description of the cell");
  EXPECT_EQ(stream.str(), "\r[1] a long descript");
}

TEST(Progress, PutsMessagesOnLinesOfTheirOwn) {
  std::ostringstream stream;
  {
    Progress progress(stream, terminal, 0);
    progress.under_way("x");
    progress.message("skipped y");
  }
  EXPECT_EQ(stream.str(), "\r[1] x\r     \rskipped y\n\r[1] x\n");
}

TEST(Progress, ThatIsQuietPrintsMessagesOnly) {
  std::ostringstream stream;
  {
    Progress progress(stream, {.quiet = true, .rewrite = true}, 1);
    progress.under_way("x");
    progress.finished("x");
    progress.message("skipped y");
  }
  EXPECT_EQ(stream.str(), "skipped y\n");
}

TEST(Progress, ForAFileIsNoTerminal) {
  // Under CTest stderr is a pipe; by hand it may be a terminal.
  EXPECT_TRUE(Progress::for_stderr(true).quiet);
  EXPECT_GT(Progress::for_stderr(false).width, 0U);
}

}  // namespace
}  // namespace gpucast::support
