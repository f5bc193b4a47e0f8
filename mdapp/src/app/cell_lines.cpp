#include "app/cell_lines.h"

#include <sstream>
#include <utility>
#include <vector>

#include "app/capacity.h"
#include "app/words.h"
#include "gpucast/support/errors.h"
#include "gpucast/support/number_list.h"

namespace gpucast::mdapp {
namespace {

std::vector<std::string> words_of(const std::string& line) {
  std::istringstream stream(line);
  std::vector<std::string> words;
  for (std::string word; stream >> word;)
    words.push_back(word);
  return words;
}

// The first process's word, on all of them.
template <class Word>
Word agree(Processes& processes, Word word) {
  return static_cast<Word>(static_cast<int>(processes.agree(static_cast<double>(word))));
}

}  // namespace

Cell parse_cell(const std::string& line, const std::string& where, const Grid& common) {
  const auto words = words_of(line);
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

CellLines::CellLines(InputLines& lines, Grid common, Processes& processes,
                     std::stop_token interrupted)
    : lines_(lines),
      common_(std::move(common)),
      processes_(processes),
      interrupted_(std::move(interrupted)) {}

std::optional<Cell> CellLines::next() {
  auto cell = processes_.rank() == 0 ? read() : std::nullopt;
  if (processes_.size() == 1) return cell;
  if (processes_.agree(cell ? 1 : 0) == 0) return std::nullopt;
  Cell shared = cell.value_or(Cell{});
  ScheduleOptions& options = shared.schedule;
  shared.n = static_cast<int>(processes_.agree(shared.n));
  options.gpus = static_cast<int>(processes_.agree(options.gpus));
  options.name = agree(processes_, options.name);
  options.memory = agree(processes_, options.memory);
  options.graph = common_.graph;
  options.kernel = kernel_of(common_, agree(processes_, options.kernel.name));
  return shared;
}

std::optional<Cell> CellLines::read() {
  while (const auto line = lines_.next(interrupted_)) {
    const auto begin = line->find_first_not_of(" \t");
    if (begin == std::string::npos || (*line)[begin] == '#') continue;
    return parse_cell(*line, lines_.name() + ":" + std::to_string(lines_.number()), common_);
  }
  return std::nullopt;
}

}  // namespace gpucast::mdapp
