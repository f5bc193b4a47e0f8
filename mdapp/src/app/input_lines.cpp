#include "app/input_lines.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <system_error>

#include "gpucast/support/errors.h"

namespace gpucast::mdapp {
namespace {

std::string reason(int error) { return std::generic_category().message(error); }

}  // namespace

InputLines::InputLines(const std::string& option, const std::string& path)
    : name_(path == "-" ? "stdin" : path),
      descriptor_(path == "-" ? ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)
                              : ::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
  if (!descriptor_) throw support::InputError(option + ": " + name_ + ": " + reason(errno));
}

std::optional<std::string> InputLines::next(const std::stop_token& interrupted) {
  while (buffer_.find('\n') == std::string::npos && read_more(interrupted)) {
  }
  return interrupted.stop_requested() ? std::nullopt : taken();
}

std::optional<std::string> InputLines::taken() {
  if (buffer_.empty()) return std::nullopt;
  ++number_;
  const auto end = buffer_.find('\n');
  std::string line = buffer_.substr(0, end);
  buffer_.erase(0, end == std::string::npos ? end : end + 1);
  if (line.ends_with('\r')) line.pop_back();
  return line;
}

// Signals break off no system call here (support::Interrupt): whoever waits must look.
bool InputLines::read_more(const std::stop_token& interrupted) {
  constexpr int between_looks = 50;  // ms
  pollfd ready{descriptor_.get(), POLLIN, 0};
  while (::poll(&ready, 1, between_looks) == 0) {
    if (interrupted.stop_requested()) return false;
  }
  std::array<char, 4096> block{};
  const ssize_t got = ::read(descriptor_.get(), block.data(), block.size());
  if (got < 0 && (errno == EINTR || errno == EAGAIN)) return true;
  if (got < 0) throw support::InputError(name_ + ": " + reason(errno));
  buffer_.append(block.data(), static_cast<std::size_t>(got));
  return got > 0;
}

}  // namespace gpucast::mdapp
