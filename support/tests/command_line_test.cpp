#include "gpucast/support/command_line.h"

#include <sstream>

#include "gpucast/support/context.h"
#include "gpucast/support/errors.h"
#include "refused.h"

namespace gpucast::support {
namespace {

struct Program {
  std::ostream& out;
  std::vector<std::string> command_line;
};

std::string text_or_dash(const std::optional<double>& value) {
  return value ? std::to_string(static_cast<int>(*value)) : "-";
}

// A command with an option of every type; prints their values.
class Echo : public Command<Program> {
 public:
  void declare(CLI::App* command) override {
    command->add_option("words", words_, "to say")->required()->expected(1, 2);
    CLI::Option* count = command->add_option("-n,--count", count_, "how often");
    command->add_option("--loudness", loudness_, "how loud")->excludes(count);
    command->add_option("--pitch", pitch_, "how high");
    refused_.push_back(command->add_option("--voice", voice_, "whose"));
    command->add_flag("--quiet", quiet_, "says nothing");
  }

  int run(Program& program) override {
    for (const CLI::Option* option : refused_)
      refuse_given(option, "nobody is there");
    for (const std::string& word : words_)
      program.out << word << " ";
    program.out << count_ << " " << text_or_dash(loudness_) << " " << pitch_ << " " << quiet_;
    return 7;
  }

 private:
  std::vector<std::string> words_;
  int count_ = 3;
  std::optional<double> loudness_;
  double pitch_ = 0.5;
  std::string voice_;
  std::vector<CLI::Option*> refused_;
  bool quiet_ = false;
};

std::unique_ptr<Command<Program>> echo() { return std::make_unique<Echo>(); }

struct Ended {
  int status = 0;
  std::string out;
};

Ended run(std::vector<std::string> words) {
  words.insert(words.begin(), "program");
  std::ostringstream out;
  Program program{.out = out, .command_line = std::move(words)};
  CommandLine line("program", "A program.");
  const int status = run_chosen(line, {{"echo", "says what it got", echo}}, program);
  return {.status = status, .out = out.str()};
}

std::string refusal(const std::vector<std::string>& words) {
  return refused<InputError>([&] { run(words); });
}

TEST(CommandLine, GivesTheChosenCommandWhatTheUserGave) {
  const Ended given = run({"echo", "a", "b", "--loudness", "9", "--pitch=2", "--quiet"});
  EXPECT_EQ(given.out, "a b 3 9 2 1");
  EXPECT_EQ(given.status, 7);
  EXPECT_EQ(run({"echo", "a", "-n", "5"}).out, "a 5 - 0.5 0");
}

TEST(CommandLine, WritesHelpAndVersionAndRunsNothing) {
  const Ended help = run({"echo", "--help"});
  EXPECT_EQ(help.status, 0);
  EXPECT_NE(help.out.find("--pitch FLOAT=0.5"), std::string::npos) << help.out;
  EXPECT_NE(help.out.find("--count INT=3"), std::string::npos) << help.out;
  EXPECT_EQ(run({"--version"}).out, std::string("program ") + version + "\n");
  const Ended nothing = run({});
  EXPECT_EQ(nothing.status, 0);
  EXPECT_EQ(nothing.out, run({"--help"}).out);
  EXPECT_NE(nothing.out.find("A program."), std::string::npos) << nothing.out;
}

TEST(CommandLine, RefusesInOneLineWhatDoesNotFit) {
  EXPECT_EQ(refusal({"echo"}), "words is required; see --help");
  EXPECT_EQ(refusal({"echo", "a", "--loudness", "9", "-n", "2"}),
            "--count excludes --loudness; see --help");
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"other"}, {"echo", "a", "b", "c"}, {"echo", "a", "-n", "x"}}) {
    const std::string message = refusal(words);
    EXPECT_TRUE(message.ends_with("; see --help")) << message;
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  }
}

TEST(CommandLine, TakesTimesWithAUnitOrInSeconds) {
  const auto budget = [](const std::string& given) {
    CommandLine line("program", "A program.");
    double seconds = 60;
    line.add_option("--budget", seconds, "for all of it")->transform(in_seconds());
    std::ostringstream out;
    line.parse({"program", "--budget", given}, out);
    return seconds;
  };
  EXPECT_EQ(budget("20"), 20);
  EXPECT_EQ(budget("0.25"), 0.25);
  EXPECT_EQ(budget("1e-9"), 1e-9);
  EXPECT_EQ(budget("20s"), 20);
  EXPECT_EQ(budget("1.5m"), 90);
  EXPECT_EQ(budget("1h"), 3600);
  EXPECT_EQ(budget("2d"), 172800);
  for (const std::string wrong : {"5x", "4 days", "M", "", "inf"}) {
    const std::string message = refused<InputError>([&] { budget(wrong); });
    EXPECT_TRUE(message.starts_with("--budget: ")) << message;
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  }
}

TEST(CommandLine, TakesSizesWithAUnitOf1024OrInBytes) {
  const auto memory = [](const std::string& given) {
    CommandLine line("program", "A program.");
    std::uint64_t bytes = 7;
    line.add_option("--memory", bytes, "at most")->transform(in_bytes());
    std::ostringstream out;
    line.parse({"program", "--memory", given}, out);
    return bytes;
  };
  EXPECT_EQ(memory("0"), 0U);
  EXPECT_EQ(memory("1000000"), 1000000U);
  EXPECT_EQ(memory("16GB"), std::uint64_t{16} << 30);
  EXPECT_EQ(memory("16g"), std::uint64_t{16} << 30);
  EXPECT_EQ(memory("512 MiB"), 512U << 20);
  EXPECT_EQ(memory("1000KiB"), 1000U << 10);
  const auto message_for = [&](const std::string& given) {
    return refused<InputError>([&] { memory(given); });
  };
  EXPECT_EQ(message_for("16"),
            "--memory: 16 bytes are too few, a million are the least (16GB?); see "
            "--help");
  EXPECT_EQ(message_for("8K"),
            "--memory: 8192 bytes are too few, a million are the least; see --help");
  for (const std::string wrong :
       {"0.5GB", "-1", "-16GB", "GB", "1e9", "16 gigabytes", "16XB", ""}) {
    EXPECT_EQ(message_for(wrong),
              "--memory: '" + wrong +
                  "' is no whole number with a unit, as 16GB and 512MB are; see --help");
  }
  EXPECT_TRUE(message_for("99999999999999999999").starts_with("--memory: "));
  EXPECT_TRUE(message_for("99999999999GB").starts_with("--memory: "));
}

TEST(CommandLine, NamesTheOptionThatACommandRefuses) {
  EXPECT_EQ(refusal({"echo", "a", "--voice", "x"}), "--voice: nobody is there");
}

// ---- exit statuses ----

TEST(ExitStatus, IsTwoForWrongInputAndOneForAFailedRun) {
  EXPECT_EQ(exit_status(InputError("out.jsonl: exists already")), 2);
  EXPECT_EQ(exit_status(OutputError("out.jsonl: No space left on device")), 1);
  EXPECT_EQ(exit_status(std::runtime_error("anything else")), 1);
}

}  // namespace
}  // namespace gpucast::support
