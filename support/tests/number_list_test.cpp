#include "gpucast/support/number_list.h"

#include "gpucast/schema/vocabulary.h"
#include "gpucast/support/parse_word.h"
#include "refused.h"

namespace gpucast::support {
namespace {

using Numbers = std::vector<std::int64_t>;

Numbers parsed(std::string_view text, Bounds bounds = {}) {
  return parse_number_list("--gpus", text, bounds);
}

std::string refusal(std::string_view text, Bounds bounds = {}) {
  return refused<InputError>([&] { parsed(text, bounds); });
}

TEST(NumberList, TakesNumbersHoweverTheyAreWritten) {
  EXPECT_EQ(parsed("216"), (Numbers{216}));
  EXPECT_EQ(parsed("216, 512,1e5,1.5E3"), (Numbers{216, 512, 100000, 1500}));
  EXPECT_EQ(parsed("9007199254740993"), (Numbers{9007199254740993}));
}

TEST(NumberList, TakesRangesWithBothEnds) {
  EXPECT_EQ(parsed("1-4"), (Numbers{1, 2, 3, 4}));
  EXPECT_EQ(parsed("1-8:2"), (Numbers{1, 3, 5, 7}));
  EXPECT_EQ(parsed("2-8:2,5-5"), (Numbers{2, 4, 6, 8, 5}));
  EXPECT_EQ(parsed("1e3-3e3:1e3"), (Numbers{1000, 2000, 3000}));
}

// The expected values come from gpucast (Python), which reads them in the same way.
TEST(NumberList, TakesRangesThatAreSpacedInTheLogarithm) {
  EXPECT_EQ(parsed("216..1000:3"), (Numbers{216, 465, 1000}));
  EXPECT_EQ(parsed("1..64:7,3"), (Numbers{1, 2, 4, 8, 16, 32, 64, 3}));
  EXPECT_EQ(parsed("5..5:3"), (Numbers{5}));
  EXPECT_EQ(parsed("512..1e6"), (Numbers{512, 963, 1810, 3404, 6400, 12034, 22627, 42546, 80000,
                                         150424, 282843, 531830, 1000000}));
  EXPECT_EQ(parsed("7..9223372036854775807:1"), (Numbers{7}));
  EXPECT_EQ(parsed("9223372036854775806..9223372036854775807:2").back(), INT64_MAX);
}

TEST(NumberList, NamesOptionAndItemOfWhatIsNoRange) {
  EXPECT_EQ(refusal("1000..216:3"), "--gpus: \"1000..216:3\" ends before it begins");
  EXPECT_EQ(refusal("0..8:3", {0, 8}), "--gpus: \"0..8:3\" has no logarithm at its begin");
  EXPECT_EQ(refusal("1..9:3", {1, 8}), "--gpus: \"9\" is more than 8");
  EXPECT_EQ(refusal("1..8:0"), "--gpus: \"0\" is less than 1");
  EXPECT_EQ(refusal("1..8:1e6"), "--gpus: \"1e6\" is more than 100000");
  EXPECT_EQ(refusal("..8"), "--gpus: \"\" is no whole number");
}

TEST(NumberList, NamesEachNumberOnceInTheOrderGiven) {
  EXPECT_EQ(parsed("4,1-4,1"), (Numbers{4, 1, 2, 3}));
}

TEST(NumberList, NamesOptionAndItemOfWhatIsOutOfBounds) {
  EXPECT_EQ(refusal("1,0"), "--gpus: \"0\" is less than 1");
  EXPECT_EQ(refusal("-4"), "--gpus: \"-4\" is less than 1");
  EXPECT_EQ(refusal("0-4"), "--gpus: \"0\" is less than 1");
  EXPECT_EQ(refusal("1-9", {1, 8}), "--gpus: \"9\" is more than 8");
}

TEST(NumberList, NamesOptionAndItemOfWhatIsNoNumber) {
  for (const char* const wrong : {"", " ", "x", "1.5", "4x", "1e-3", "nan", "inf", "1e30",
                                  "99999999999999999999", "0x10", "+4"}) {
    EXPECT_EQ(refusal(wrong), "--gpus: \"" + std::string(wrong == std::string(" ") ? "" : wrong) +
                                  "\" is no whole number");
  }
  EXPECT_EQ(refusal("1,,2"), "--gpus: \"\" is no whole number");
  EXPECT_EQ(refusal("1-"), "--gpus: \"\" is no whole number");
  EXPECT_EQ(refusal("1-8:x"), "--gpus: \"x\" is no whole number");
}

TEST(NumberList, RefusesRangesThatNeverEndOrGoBackwards) {
  EXPECT_EQ(refusal("4-1"), "--gpus: \"4-1\" ends before it begins");
  EXPECT_EQ(refusal("1-8:0"), "--gpus: \"0\" is less than 1");
  EXPECT_EQ(refusal("1-1e15"), "--gpus: \"1-1e15\" makes more than 100000 numbers");
}

TEST(NumberList, GoesUpToTheLargestNumberThereIs) {
  EXPECT_EQ(parsed("9223372036854775806-9223372036854775807"), (Numbers{INT64_MAX - 1, INT64_MAX}));
}

TEST(Number, IsOneNumberOfAList) {
  EXPECT_EQ(parse_number("--steps", "1e3", {}), 1000);
  EXPECT_THROW(parse_number("--steps", "1-4", {}), InputError);
}

// ---- words ----

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
