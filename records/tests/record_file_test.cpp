#include "gpucast/records/record_file.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <array>
#include <cmath>
#include <csignal>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "refused.h"
#include "temporary_folder.h"

namespace gpucast::records {
namespace {

namespace fs = std::filesystem;

class RecordFileTest : public testing::Test {
 protected:
  std::string path(const std::string& name = "out.jsonl") const { return folder_ / name; }

  std::string content() const {
    std::ifstream stream(path(), std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
  }

  void fill(const std::string& text) const { std::ofstream(path(), std::ios::binary) << text; }

 private:
  support::TemporaryFolder folder_;
};

nlohmann::ordered_json record(int number) {
  nlohmann::ordered_json value;
  value["kind"] = "note";
  value["text"] = std::to_string(number);
  return value;
}

std::string line(int number) {
  return R"({"schema":"gpucast.record/1","kind":"note","text":")" + std::to_string(number) +
         "\"}\n";
}

TEST_F(RecordFileTest, HasEachRecordAsSoonAsItIsWritten) {
  RecordFile file(path());
  file.write(record(1));
  EXPECT_EQ(content(), line(1));
  file.write(record(2));
  EXPECT_EQ(content(), line(1) + line(2));
}

TEST_F(RecordFileTest, PutsTheSchemaInFrontWhereverTheRecordHasIt) {
  auto value = record(1);
  value["schema"] = schema;
  RecordFile file(path());
  file.write(value);
  EXPECT_EQ(content(), line(1));
}

TEST_F(RecordFileTest, ThatExistsIsRefusedAndLeftAsItIs) {
  fill("mine");
  EXPECT_EQ(support::refused<support::InputError>([&] { const RecordFile file(path()); }),
            path() + ": exists already; --force replaces it, --append adds to it");
  EXPECT_EQ(content(), "mine");
}

TEST_F(RecordFileTest, IsReplacedOnlyByTheFirstRecord) {
  fill("old\n");
  {
    const RecordFile file(path(), IfExists::replace);
  }
  EXPECT_EQ(content(), "old\n");
  RecordFile file(path(), IfExists::replace);
  EXPECT_EQ(content(), "old\n");
  file.write(record(1));
  file.write(record(2));
  EXPECT_EQ(content(), line(1) + line(2));
}

TEST_F(RecordFileTest, IsAppendedToBehindWhatItHas) {
  fill(line(1));
  RecordFile file(path(), IfExists::append);
  file.write(record(2));
  EXPECT_EQ(content(), line(1) + line(2));
}

TEST_F(RecordFileTest, LosesTheHalfLineOfAKilledRunWhenAppendedTo) {
  const std::string half = line(2).substr(0, 30);
  for (const std::string& whole : {std::string(), line(1), line(1) + line(1)}) {
    fill(whole + half);
    RecordFile file(path(), IfExists::append);
    EXPECT_EQ(content(), whole + half);
    file.write(record(3));
    EXPECT_EQ(content(), whole + line(3));
  }
}

TEST_F(RecordFileTest, LosesAHalfLineLongerThanAnyBuffer) {
  fill(line(1) + "{\"seconds\":[" + std::string(300'000, '1'));
  RecordFile file(path(), IfExists::append);
  file.write(record(2));
  EXPECT_EQ(content(), line(1) + line(2));
}

TEST_F(RecordFileTest, KeepsAWholeLastLineWithoutLineEndWhenAppendedTo) {
  std::string whole = line(1);
  whole.pop_back();
  fill(whole);
  RecordFile file(path(), IfExists::append);
  file.write(record(2));
  EXPECT_EQ(content(), line(1) + line(2));
}

TEST_F(RecordFileTest, OfSomebodyElseIsNotCut) {
  fill("n,gpus,seconds\n1000,1,0.5 s");
  EXPECT_EQ(support::refused<support::InputError>(
                [&] { const RecordFile file(path(), IfExists::append); }),
            path() + ": its last line is no record; it is left as it is");
}

TEST_F(RecordFileTest, ThatGetsNoRecordIsNotThereAfterwards) {
  {
    const RecordFile file(path());
    EXPECT_TRUE(fs::exists(path()));
  }
  EXPECT_FALSE(fs::exists(path()));
  RecordFile closed(path(), IfExists::append);
  closed.close();
  EXPECT_FALSE(fs::exists(path()));
}

// ---- somebody else touches it ----

class ATouchedRecordFile : public RecordFileTest {
 protected:
  // Returns the error of the record that detects the change.
  std::string refused(RecordFile& file, int number) {
    return support::refused<support::OutputError>([&] { file.write(record(number)); });
  }
  std::string saved(const std::string& name = "out.jsonl.saved") const {
    std::ifstream stream(path(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
  }
  std::string message(const std::string& happened, const std::string& suffix = "") const {
    return path() + ": " + happened +
           " while it was measured into; what was measured is saved as " + path() + ".saved" +
           suffix;
  }
};

TEST_F(ATouchedRecordFile, ThatIsGoneIsSavedUnderAnotherName) {
  RecordFile file(path());
  file.write(record(1));
  fs::remove(path());
  EXPECT_EQ(refused(file, 2), message("was removed"));
  EXPECT_EQ(saved(), line(1) + line(2));
  EXPECT_FALSE(fs::exists(path()));
  EXPECT_EQ(refused(file, 3), message("was removed"));
  EXPECT_FALSE(fs::exists(path("out.jsonl.saved2")));
}

TEST_F(ATouchedRecordFile, ThatAnotherHasReplacedLeavesTheOtherAsItIs) {
  {
    RecordFile file(path());
    file.write(record(1));
    fs::remove(path());
    fill("precious\n");
    EXPECT_EQ(refused(file, 2), message("was replaced by another file"));
    EXPECT_EQ(saved(), line(1) + line(2));
  }
  EXPECT_EQ(content(), "precious\n");
}

TEST_F(ATouchedRecordFile, ThatIsCutOrLengthenedIsWrittenNoFurther) {
  for (const off_t size : {off_t{0}, off_t{20}, off_t{1000}}) {
    const std::string suffix = size == 0 ? "" : size == 20 ? "2" : "3";
    RecordFile file(path(), IfExists::replace);
    file.write(record(1));
    ASSERT_EQ(::truncate(path().c_str(), size), 0);
    EXPECT_EQ(refused(file, 2), message("was changed by somebody else", suffix));
    EXPECT_EQ(content().size(), static_cast<std::size_t>(size));
    EXPECT_EQ(saved("out.jsonl.saved" + suffix), line(1) + line(2));
  }
}

TEST_F(ATouchedRecordFile, IsFoundOutWhenItIsClosedToo) {
  RecordFile file(path());
  file.write(record(1));
  fs::remove(path());
  EXPECT_EQ(support::refused<support::OutputError>([&] { file.close(); }), message("was removed"));
  EXPECT_EQ(saved(), line(1));
}

TEST_F(ATouchedRecordFile, ThatHasNoRecordYetTakesNobodyElsesAway) {
  {
    RecordFile file(path());
    fs::remove(path());
    fill("precious\n");
  }
  EXPECT_EQ(content(), "precious\n");
}

TEST_F(ATouchedRecordFile, ThatIsAppendedToSavesWhatThisRunWrote) {
  fill(line(1));
  RecordFile file(path(), IfExists::append);
  file.write(record(2));
  fs::remove(path());
  EXPECT_EQ(refused(file, 3), message("was removed"));
  EXPECT_EQ(saved(), line(2) + line(3));
}

TEST_F(RecordFileTest, ThatCannotBeWrittenIsRefusedAtOnce) {
  EXPECT_EQ(
      support::refused<support::InputError>([&] { const RecordFile file(path("none/out.jsonl")); }),
      path("none/out.jsonl") + ": No such file or directory");
  EXPECT_EQ(support::refused<support::InputError>(
                [&] { const RecordFile file(path(""), IfExists::replace); }),
            path("") + ": Is a directory");
  EXPECT_EQ(support::refused<support::InputError>([] { const RecordFile file(""); }),
            "output: the file's name is empty");
}

TEST_F(RecordFileTest, IsWrittenByOneProgramAtATime) {
  const RecordFile first(path());
  EXPECT_EQ(support::refused<support::InputError>(
                [&] { const RecordFile second(path(), IfExists::append); }),
            path() + ": another program is writing to it");
}

TEST_F(RecordFileTest, SaysThatTheDiskIsFull) {
  if (!fs::exists("/dev/full")) GTEST_SKIP() << "no /dev/full";
  RecordFile file("/dev/full");
  EXPECT_EQ(support::refused<support::OutputError>([&] { file.write(record(1)); }),
            "/dev/full: No space left on device");
}

// A limit on file sizes interrupts a write in its middle, like a full disk.
TEST_F(RecordFileTest, EndsWithAWholeLineWhereTheDiskFillsUpWithinOne) {
  RecordFile file(path());
  file.write(record(1));
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit tight{line(1).size() + 10, before.rlim_max};
  auto* const handler = std::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &tight), 0);
  const std::string message =
      support::refused<support::OutputError>([&] { file.write(record(2)); });
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(message, path() + ": File too large");
  EXPECT_EQ(content(), line(1));
  file.write(record(3));
  EXPECT_EQ(content(), line(1) + line(3));
}

TEST_F(RecordFileTest, SurvivesAReaderThatIsGone) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe(ends.data()), 0);
  RecordFile file("/dev/fd/" + std::to_string(ends[1]));
  file.write(record(1));
  ::close(ends[0]);
  EXPECT_NE(
      support::refused<support::OutputError>([&] { file.write(record(2)); }).find("Broken pipe"),
      std::string::npos);
  ::close(ends[1]);
}

TEST_F(RecordFileTest, OnStdoutIsWrittenThroughThePrintedStream) {
  testing::internal::CaptureStdout();
  RecordFile file("-", IfExists::refuse);
  file.write(record(1));
  EXPECT_EQ(testing::internal::GetCapturedStdout(), line(1));
  EXPECT_EQ(file.name(), "stdout");
}

TEST_F(RecordFileTest, TakesNoNumberThatJsonLacksAndNothingButObjects) {
  auto value = record(1);
  value["about"] = {{"x", {0.0, std::nan("")}}};
  RecordFile file(path());
  EXPECT_EQ(support::refused<std::invalid_argument>([&] { file.write(value); }),
            "record.about.x[1]: not a finite number");
  EXPECT_THROW(file.write(3), std::invalid_argument);
  EXPECT_EQ(content(), "");
}

TEST_F(RecordFileTest, HoldsUtf8WhateverBytesANameHas) {
  auto value = record(1);
  value["text"] = "a\xff";
  RecordFile file(path());
  file.write(value);
  EXPECT_EQ(content(),
            "{\"schema\":\"gpucast.record/1\",\"kind\":\"note\",\"text\":\"a\xef\xbf\xbd\"}\n");
}

}  // namespace
}  // namespace gpucast::records
