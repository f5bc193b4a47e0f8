#include "gpucast/support/progress.h"

#include <sys/ioctl.h>
#include <unistd.h>

namespace gpucast::support {

Progress::Style Progress::for_stderr(bool quiet) {
  Style style{quiet, ::isatty(STDERR_FILENO) == 1, 80};
  winsize size{};
  if (style.rewrite && ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
    style.width = size.ws_col;
  }
  return style;
}

Progress::Progress(std::ostream& stream, Style style, std::size_t total)
    : stream_(stream), style_(style), total_(total) {}

Progress::~Progress() {
  if (!shown_.empty()) {
    stream_ << "\n" << std::flush;  // the last line stays
  }
}

void Progress::under_way(std::string_view item) {
  if (!style_.quiet && style_.rewrite) show(counted(finished_ + 1, item));
}

void Progress::finished(std::string_view item) {
  ++finished_;
  if (style_.quiet) return;
  if (style_.rewrite) {
    show(counted(finished_, item));
  } else {
    stream_ << counted(finished_, item) << "\n" << std::flush;
  }
}

void Progress::message(std::string_view line) {
  const std::string before = shown_;
  clear();
  stream_ << line << "\n" << std::flush;
  if (!before.empty()) show(before);
}

std::string Progress::counted(std::size_t number, std::string_view item) const {
  const std::string total = total_ > 0 ? "/" + std::to_string(total_) : "";
  return "[" + std::to_string(number) + total + "] " + std::string(item);
}

void Progress::show(std::string line) {
  // The last column stays free: some terminals wrap as soon as it is filled.
  if (line.size() >= style_.width) line.resize(style_.width > 0 ? style_.width - 1 : 0);
  // What is left of a longer line before is painted over with spaces.
  const std::size_t rest = shown_.size() > line.size() ? shown_.size() - line.size() : 0;
  stream_ << "\r" << line << std::string(rest, ' ') << std::flush;
  shown_ = std::move(line);
}

void Progress::clear() {
  if (!shown_.empty()) {
    stream_ << "\r" << std::string(shown_.size(), ' ') << "\r";
    shown_.clear();
  }
}

}  // namespace gpucast::support
