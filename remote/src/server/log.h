// The server's messages on stderr. No client can block the server or fill its disk by causing them.
#pragma once

#include <chrono>
#include <cstdint>
#include <iosfwd>
#include <optional>
#include <streambuf>
#include <string>

#include "gpucast/support/descriptor.h"

namespace gpucast::remote::server {

// Writes lines to a file descriptor, each as a whole when it is flushed, and never waits: lines for
// which a pipe or a terminal has no room are lost, and the next line that is written is preceded by
// their number.
class LogLines : public std::streambuf {
 public:
  explicit LogLines(int descriptor);

 protected:
  int_type overflow(int_type sign) override;
  std::streamsize xsputn(const char* text, std::streamsize bytes) override;
  int sync() override;

 private:
  bool write(const std::string& text) const;

  int descriptor_;
  bool is_socket_ = false;
  support::Descriptor own_;  // the same file, reopened for writing without waiting
  std::string line_;
  std::uint64_t lost_ = 0;
};

// Writes the line, as a whole even if several threads write.
void say(std::ostream& log, const std::string& line);

// Complaints that strangers can cause as often as they like: limited to a number a second.
class Complaints {
 public:
  explicit Complaints(int most = 1) : most_(most) {}
  using Time = std::chrono::steady_clock::time_point;
  static constexpr std::chrono::seconds pause{1};

  // Returns the text to write now: the complaint, with the number of suppressed ones before it;
  // nothing if it is suppressed.
  std::optional<std::string> take(const std::string& complaint, Time now);
  // Returns the text to write after a pause: the number of suppressed complaints; nothing if there
  // are none.
  std::optional<std::string> rest(Time now);

 private:
  int most_;
  int said_ = 0;              // complaints in this second
  std::optional<Time> last_;  // the beginning of this second
  std::uint64_t held_ = 0;
};

}  // namespace gpucast::remote::server
