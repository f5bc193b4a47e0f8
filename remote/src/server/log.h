// The server's messages on stderr. No client can block the server or fill its disk by causing them.
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>

#include "gpucast/support/descriptor.h"

namespace gpucast::remote::server {

// Lines to a file descriptor, each written as a whole. It never waits: lines for which a pipe or a
// terminal has no room are lost, and the next line that is written is preceded by their number. May
// be called from any thread.
class Log {
 public:
  explicit Log(int descriptor);
  void say(const std::string& line);

 private:
  bool write(const std::string& text) const;

  int descriptor_;
  bool is_socket_ = false;
  support::Descriptor own_;  // the same file, reopened for writing without waiting
  std::mutex mutex_;
  std::uint64_t lost_ = 0;
};

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
