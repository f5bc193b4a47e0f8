// The server's log: strangers can neither stop the server through it nor fill its disk.
#include "server/log.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>

namespace gpucast::remote::server {
namespace {

using std::chrono::milliseconds;

TEST(Complaints, AreSaidOnceASecondWithTheirNumber) {
  Complaints complaints;
  const Complaints::Time begin{};
  EXPECT_EQ(complaints.take("first", begin), "first");
  for (int k = 1; k < 1000; ++k)
    EXPECT_EQ(complaints.take("more", begin + milliseconds(k)), std::nullopt);
  EXPECT_EQ(complaints.take("later", begin + milliseconds(1000)), "later (and 999 others)");
  EXPECT_EQ(complaints.take("much later", begin + milliseconds(5000)), "much later");
}

TEST(Complaints, AreAsManyASecondAsIsAsked) {
  Complaints complaints(2);
  const Complaints::Time begin{};
  EXPECT_EQ(complaints.take("first", begin), "first");
  EXPECT_EQ(complaints.take("second", begin), "second");
  EXPECT_EQ(complaints.take("third", begin), std::nullopt);
  EXPECT_EQ(complaints.take("fourth", begin + Complaints::pause), "fourth (and 1 other)");
  EXPECT_EQ(complaints.take("fifth", begin + Complaints::pause), "fifth");
}

TEST(Complaints, ThatWereHeldBackAreCountedInTheEnd) {
  Complaints complaints;
  const Complaints::Time begin{};
  complaints.take("first", begin);
  EXPECT_EQ(complaints.rest(begin + milliseconds(1000)), std::nullopt);
  complaints.take("more", begin + milliseconds(500));
  EXPECT_EQ(complaints.rest(begin + milliseconds(999)), std::nullopt);
  EXPECT_EQ(complaints.rest(begin + milliseconds(1000)),
            "1 more connections ended so or were refused");
  EXPECT_EQ(complaints.rest(begin + milliseconds(3000)), std::nullopt);
}

// Both ends of a channel for lines.
struct Ends {
  support::Descriptor reading;
  support::Descriptor writing;
};
Ends a_pipe() {
  std::array<int, 2> ends{};
  EXPECT_EQ(::pipe(ends.data()), 0);
  return {.reading = support::Descriptor(ends[0]), .writing = support::Descriptor(ends[1])};
}
Ends a_socket() {
  std::array<int, 2> ends{};
  EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()), 0);
  return {.reading = support::Descriptor(ends[0]), .writing = support::Descriptor(ends[1])};
}

std::string read_all_of(int descriptor) {
  ::fcntl(descriptor, F_SETFL, O_NONBLOCK);
  std::string result;
  std::array<char, 4096> part{};
  for (ssize_t got = 0; (got = ::read(descriptor, part.data(), part.size())) > 0;)
    result.append(part.data(), static_cast<std::size_t>(got));
  return result;
}

void is_never_waited_for(const Ends& ends) {
  Log log(ends.writing.get());
  constexpr int many = 100'000;  // more than any of the channels holds
  for (int k = 0; k < many; ++k)
    log.say("line " + std::to_string(k));
  const std::string before = read_all_of(ends.reading.get());
  EXPECT_TRUE(before.starts_with("gpucast-gpu-server: line 0\ngpucast-gpu-server: line 1\n"));
  log.say("again");
  log.say("and again");
  const std::string after = read_all_of(ends.reading.get());
  EXPECT_NE(after.find(" lines were lost: nobody read this log\ngpucast-gpu-server: again\n"
                       "gpucast-gpu-server: and again\n"),
            std::string::npos);
}

TEST(Log, OfAPipeThatNobodyReadsAreLostAndCounted) { is_never_waited_for(a_pipe()); }
TEST(Log, OfASocketThatNobodyReadsAreLostAndCounted) { is_never_waited_for(a_socket()); }

TEST(Log, LeaveTheFileAsItIsToOthersWhoHaveIt) {
  const Ends ends = a_pipe();
  const Log log(ends.writing.get());
  EXPECT_EQ(::fcntl(ends.writing.get(), F_GETFL) & O_NONBLOCK, 0);
}

}  // namespace
}  // namespace gpucast::remote::server
