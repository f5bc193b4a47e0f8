#include "app/cell_lines.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <iterator>
#include <sstream>
#include <system_error>
#include <utility>
#include <vector>

#include "app/capacity.h"
#include "app/words.h"
#include "gpucast/support/errors.h"
#include "gpucast/support/number_list.h"

namespace gpucast::mdapp {

Cell parse_cell(const std::string& line, const std::string& where, const Grid& common) {
  std::istringstream stream(line);
  const std::vector<std::string> words{std::istream_iterator<std::string>(stream), {}};
  constexpr std::size_t fields = 5;
  if (words.size() != fields) {
    throw support::InputError(where + ": " + std::to_string(words.size()) +
                              " fields; a cell is: n gpus schedule kernel memory");
  }
  const auto field = [&](const char* name) { return where + ": " + name; };
  const auto number = [&](const char* name, const std::string& text, int most) {
    return static_cast<int>(support::parse_number(field(name), text, {.least = 1, .most = most}));
  };
  Cell cell{.n = number("n", words[0], most_particles),
            .schedule = {.name = support::parse_word<Schedule>(field("schedule"), words[2]),
                         .memory = support::parse_word<Memory>(field("memory"), words[4], memories),
                         .graph = common.graph,
                         .gpus = number("gpus", words[1], most_gpus),
                         .kernel = kernel_of(
                             common, support::parse_word<KernelName>(field("kernel"), words[3]))}};
  if (cell.schedule.name != Schedule::star_serial && cell.schedule.memory != Memory::pinned) {
    throw support::InputError(field("memory") +
                              ": only star-serial has a choice; the others need pinned");
  }
  return cell;
}

CellLines::CellLines(const std::string& path, Grid common, Processes& processes,
                     std::stop_token interrupted)
    : name_(path == "-" ? "stdin" : path),
      descriptor_(path == "-" ? ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)
                              : ::open(path.c_str(), O_RDONLY | O_CLOEXEC)),
      common_(std::move(common)),
      processes_(processes),
      interrupted_(std::move(interrupted)) {
  if (!descriptor_)
    throw support::InputError("--cells: " + name_ + ": " + std::generic_category().message(errno));
}

std::optional<Cell> CellLines::next() {
  const std::string text =
      processes_.agree_text(processes_.rank() == 0 ? cell_text() : std::string());
  if (text.empty()) return std::nullopt;
  return parse_cell(text, name_ + ":" + std::to_string(number_), common_);
}

std::string CellLines::cell_text() {
  while (true) {
    while (buffer_.find('\n') == std::string::npos && read_more()) {
    }
    if (interrupted_.stop_requested() || buffer_.empty()) return {};
    ++number_;
    const auto end = buffer_.find('\n');
    const std::string line = buffer_.substr(0, end);
    buffer_.erase(0, end == std::string::npos ? end : end + 1);
    const auto begin = line.find_first_not_of(" \t\r");
    if (begin != std::string::npos && line[begin] != '#') return line;
  }
}

// Signals break off no system call here (support::Interrupt): whoever waits must look.
bool CellLines::read_more() {
  constexpr int between_looks = 50;  // ms
  pollfd ready{descriptor_.get(), POLLIN, 0};
  while (::poll(&ready, 1, between_looks) == 0) {
    if (interrupted_.stop_requested()) return false;
  }
  std::array<char, 4096> block{};
  const ssize_t got = ::read(descriptor_.get(), block.data(), block.size());
  if (got < 0 && (errno == EINTR || errno == EAGAIN)) return true;
  if (got < 0) throw support::InputError(name_ + ": " + std::generic_category().message(errno));
  buffer_.append(block.data(), static_cast<std::size_t>(got));
  return got > 0;
}

}  // namespace gpucast::mdapp
