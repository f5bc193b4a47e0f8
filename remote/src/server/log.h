// What a server says on stderr. Nobody may stop it, or fill its disk, by what he makes it say.
#pragma once

#include <chrono>
#include <cstdint>
#include <iosfwd>
#include <optional>
#include <streambuf>
#include <string>

#include "gpucast/support/descriptor.h"

namespace gpucast::remote::server {

// Lines to a file descriptor, each as a whole when it is flushed, without ever waiting: those for
// which a pipe or a terminal has no room are lost, and counted before the next one that goes out.
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
  support::Descriptor own_;  // the same file, opened anew so as not to wait
  std::string line_;
  std::uint64_t lost_ = 0;
};

// Says it as a line, whole where several threads speak.
void say(std::ostream& log, const std::string& line);

// Complaints that strangers can cause as often as they like: at most a given number a second.
class Complaints {
 public:
  explicit Complaints(int most = 1) : most_(most) {}
  using Time = std::chrono::steady_clock::time_point;
  static constexpr std::chrono::seconds pause{1};

  // What to say now: the complaint, with the number of those that were held back before it; nothing
  // where it is held back.
  std::optional<std::string> take(const std::string& complaint, Time now);
  // What to say once nothing has come for the pause: how many are held back; nothing where none is.
  std::optional<std::string> rest(Time now);

 private:
  int most_;
  int said_ = 0;              // since then
  std::optional<Time> last_;  // when a second began
  std::uint64_t held_ = 0;
};

}  // namespace gpucast::remote::server
