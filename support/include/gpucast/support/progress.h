// One line of progress, for stderr.
#pragma once

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstddef>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>

namespace gpucast::support {

// On a terminal one line is rewritten in place; elsewhere each finished item gets a line. There are
// no colour codes. Other output to the same stream has to use message().
class Progress {
 public:
  struct Style {
    bool quiet = false;      // messages only
    bool rewrite = false;    // a terminal
    std::size_t width = 80;  // columns: a line that wraps cannot be rewritten
  };

  // Returns the style that suits stderr.
  static Style for_stderr(bool quiet) {
    Style style{quiet, ::isatty(STDERR_FILENO) == 1, 80};
    winsize size{};
    if (style.rewrite && ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
      style.width = size.ws_col;
    return style;
  }

  // `total` items; 0: unknown.
  Progress(std::ostream& stream, Style style, std::size_t total)
      : stream_(stream), style_(style), total_(total) {}
  ~Progress() {
    if (!shown_.empty()) stream_ << "\n" << std::flush;  // the last line stays
  }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Shown on a terminal only.
  void under_way(std::string_view item) {
    if (!style_.quiet && style_.rewrite) show(counted(finished_ + 1, item));
  }
  void finished(std::string_view item) {
    ++finished_;
    if (style_.quiet) return;
    if (style_.rewrite)
      show(counted(finished_, item));
    else
      stream_ << counted(finished_, item) << "\n" << std::flush;
  }
  // Prints a whole line, even if quiet.
  void message(std::string_view line) {
    const std::string before = shown_;
    clear();
    stream_ << line << "\n" << std::flush;
    if (!before.empty()) show(before);
  }

 private:
  std::string counted(std::size_t number, std::string_view item) const {
    const std::string total = total_ > 0 ? "/" + std::to_string(total_) : "";
    return "[" + std::to_string(number) + total + "] " + std::string(item);
  }
  void show(std::string line) {
    // The last column stays empty, since some terminals wrap once it is filled.
    if (line.size() >= style_.width) line.resize(style_.width > 0 ? style_.width - 1 : 0);
    // The rest of a longer previous line is overwritten with spaces.
    const std::size_t rest = shown_.size() > line.size() ? shown_.size() - line.size() : 0;
    stream_ << "\r" << line << std::string(rest, ' ') << std::flush;
    shown_ = std::move(line);
  }
  void clear() {
    if (!shown_.empty()) {
      stream_ << "\r" << std::string(shown_.size(), ' ') << "\r";
      shown_.clear();
    }
  }

  std::ostream& stream_;
  Style style_;
  std::size_t total_;
  std::size_t finished_ = 0;
  std::string shown_;
};

}  // namespace gpucast::support
