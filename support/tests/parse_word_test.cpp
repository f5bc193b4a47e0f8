#include "gpucast/support/parse_word.h"

#include <gtest/gtest.h>

#include "gpucast/schema/vocabulary.h"
#include "gpucast/support/errors.h"
#include "refused.h"

namespace gpucast::support {
namespace {

template <class Word>
void expect_all_survive() {
  for (const auto& [word, text] : schema::words<Word>) {
    EXPECT_EQ(schema::name(word), text);
    EXPECT_EQ(support::name(word), text);
    EXPECT_EQ(parse_word<Word>("--option", text), word);
  }
}

TEST(Words, SurviveWritingAndReading) {
  expect_all_survive<schema::RecordKind>();
  expect_all_survive<schema::Path>();
  expect_all_survive<schema::Schedule>();
  expect_all_survive<schema::Memory>();
  expect_all_survive<schema::Engine>();
  expect_all_survive<schema::Route>();
  expect_all_survive<schema::TransferMethod>();
  expect_all_survive<schema::LaunchMethod>();
  expect_all_survive<schema::OverlapPart>();
  expect_all_survive<schema::ObservationKind>();
}

TEST(Words, UnknownOnesAreRefusedWithThoseThereAre) {
  EXPECT_EQ(refused<InputError>([] { parse_word<schema::Engine>("--engine", "dma"); }),
            "--engine: \"dma\" is none of copy, kernel");
}

TEST(Words, OfAPartOfATypeAloneAreTaken) {
  constexpr std::array some{schema::Memory::pageable, schema::Memory::pinned};
  EXPECT_EQ(parse_word<schema::Memory>("--memory", "pinned", some), schema::Memory::pinned);
  EXPECT_EQ(refused<InputError>([&] { parse_word<schema::Memory>("--memory", "mapped", some); }),
            "--memory: \"mapped\" is none of pageable, pinned");
}

}  // namespace
}  // namespace gpucast::support
