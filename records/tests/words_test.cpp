#include "gpucast/records/words.h"

#include <gtest/gtest.h>

#include "gpucast/support/errors.h"
#include "refused.h"

namespace gpucast::records {
namespace {

template <class Word>
void expect_all_survive() {
  for (const auto& [word, text] : support::words<Word>) {
    EXPECT_EQ(support::name(word), text);
    EXPECT_EQ(support::parse_word<Word>("--option", text), word);
  }
}

TEST(Words, SurviveWritingAndReading) {
  expect_all_survive<Schedule>();
  expect_all_survive<Memory>();
  expect_all_survive<TransferMethod>();
  expect_all_survive<OverlapPart>();
  expect_all_survive<Engine>();
  expect_all_survive<Route>();
  expect_all_survive<LaunchMethod>();
}

TEST(Words, UnknownOnesAreRefusedWithThoseThereAre) {
  EXPECT_EQ(
      support::refused<support::InputError>([] { support::parse_word<Engine>("--engine", "dma"); }),
      "--engine: \"dma\" is none of copy, kernel");
}

}  // namespace
}  // namespace gpucast::records
