#include "app/plan.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <iterator>
#include <sstream>
#include <system_error>
#include <utility>

#include "gpucast/support/errors.h"
#include "gpucast/support/human.h"
#include "gpucast/support/number_list.h"

namespace gpucast::mdapp {
namespace {

// The cut-off must fit into the smallest box.
void require_cutoff(const Grid& grid, const Physics& physics) {
  try {
    boundary_of(box_side(physics.salt, std::ranges::min(grid.n), physics.around.kind),
                physics.around);
  } catch (const std::invalid_argument& error) {
    throw support::InputError(std::string("--cutoff: ") + error.what());
  }
}

}  // namespace

std::string describe(const Cell& cell) {
  const ScheduleOptions& options = cell.schedule;
  std::string text = "n=" + std::to_string(cell.n) + " gpus=" + std::to_string(options.gpus) + " " +
                     std::string(name(options.name)) + " " + support::name(options.kernel.name);
  if (options.name == Schedule::star_serial) text += " " + std::string(name(options.memory));
  if (options.graph) text += " graph";
  return text;
}

CellSource planned(std::vector<Cell> cells) {
  const std::size_t total = cells.size();
  const auto next = [cells = std::move(cells),
                     given = std::size_t{0}]() mutable -> std::optional<Cell> {
    return given < cells.size() ? std::optional(cells[given++]) : std::nullopt;
  };
  return {.next = next, .total = total};
}

std::vector<Cell> plan(const Grid& grid, const Physics& physics, const Engine& engine,
                       Processes& processes) {
  std::vector<Cell> cells;
  for (const Schedule schedule : grid.schedules) {
    for (const KernelName kernel : grid.kernels) {
      const bool serial = schedule == Schedule::star_serial;
      for (const Memory memory : serial ? grid.memories : std::vector{Memory::pinned}) {
        // GPU counts of one n are measured consecutively: slow drift then affects in the same way
        // the cells that will be compared.
        for (const int n : grid.n) {
          for (const int gpus : grid.gpus) {
            cells.push_back({.n = n,
                             .schedule = {.name = schedule,
                                          .memory = memory,
                                          .graph = grid.graph,
                                          .gpus = gpus,
                                          .kernel = kernel_of(grid, kernel)}});
          }
        }
      }
    }
  }
  for (const Cell& cell : cells)
    require_capacity(engine, processes, cell.n, cell.schedule);
  require_cutoff(grid, physics);
  return cells;
}

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

// Signals interrupt no system call here (support::Interrupt), so that a waiting loop must check.
bool CellLines::read_more() {
  constexpr int between_looks = 50;  // ms
  pollfd ready{descriptor_.get(), POLLIN, 0};
  while (::poll(&ready, 1, between_looks) == 0)
    if (interrupted_.stop_requested()) return false;
  std::array<char, 4096> block{};
  const ssize_t got = ::read(descriptor_.get(), block.data(), block.size());
  if (got < 0 && (errno == EINTR || errno == EAGAIN)) return true;
  if (got < 0) throw support::InputError(name_ + ": " + std::generic_category().message(errno));
  buffer_.append(block.data(), static_cast<std::size_t>(got));
  return got > 0;
}

namespace {

using support::InputError;

// A particle on the host: two systems during set-up (position, velocity, order; 52 bytes), the
// drawn start, and the transferred data (36 bytes).
constexpr std::int64_t host_bytes_a_particle = 2 * 52 + 32 + 36;

std::string devices_of(const Engine& engine, std::size_t count) {
  const std::string noun = engine.path() == schema::Path::host ? "core" : "GPU";
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

// The number of devices of all processes on one host. Launchers bind each process to its own cores,
// and it sees only those.
std::size_t on_this_host(const Engine& engine) {
  const std::size_t seen = engine.devices().size();
  if (engine.path() != schema::Path::host) return seen;
  return std::max(seen, static_cast<std::size_t>(sysconf(_SC_NPROCESSORS_ONLN)));
}

// One process per device: processes of one host must not share any. All of them check, and get the
// same answer.
void require_devices_of_their_own(const Engine& engine, Processes& processes, int gpus) {
  const auto devices = engine.devices();
  const auto rank = static_cast<std::size_t>(processes.rank_on_host());
  const bool takes_part = processes.rank() < gpus;
  const std::string own =
      devices[rank % devices.size()].pci.value_or(std::to_string(rank % on_this_host(engine)));
  const bool shared = processes.saying_on_host(takes_part ? own : "") > 1 && takes_part;
  if (processes.add_up(shared ? 1 : 0) == 0) return;
  throw InputError("--gpus: " + std::to_string(gpus) + " wanted, a process each, and a host with " +
                   devices_of(engine, on_this_host(engine)) + " has more processes than that");
}

void require_devices(const Engine& engine, Processes& processes, const ScheduleOptions& schedule) {
  const std::size_t present = engine.devices().size();
  if (schedule.name == Schedule::mpi) {
    require(schedule.gpus <= processes.size(),
            "--gpus: " + std::to_string(schedule.gpus) + " need as many processes, and " +
                std::to_string(processes.size()) + (processes.size() == 1 ? " was" : " were") +
                " started (mpirun, srun)");
    require_devices_of_their_own(engine, processes, schedule.gpus);
    return;
  }
  require(processes.size() == 1,
          "--schedule: " + std::string(name(schedule.name)) + " runs in one process, and " +
              std::to_string(processes.size()) + " were started; only mpi uses them");
  require(static_cast<std::size_t>(schedule.gpus) <= present,
          "--gpus: " + std::to_string(schedule.gpus) + " wanted, " + devices_of(engine, present) +
              " present");
}

[[noreturn]] void too_large(int n, const std::string& where, std::int64_t needed,
                            std::int64_t free) {
  throw InputError("--n: " + std::to_string(n) + " is too large: " + where + " needs " +
                   support::human_bytes(needed) + ", " + support::human_bytes(free) + " are free");
}

void require_memory(const Engine& engine, const Processes& processes, int n,
                    const ScheduleOptions& schedule) {
  const bool on_host = engine.path() == schema::Path::host;
  std::int64_t host = host_bytes_a_particle * n;
  const int here = schedule.name == Schedule::mpi ? 1 : schedule.gpus;
  for (int device = 0; device < here; ++device) {
    const auto needed = engine.bytes_needed(
        {.n = n, .slice = slice_of(n, schedule.gpus, device), .kernel = schedule.kernel});
    if (on_host)
      host += needed;
    else if (const auto free = engine.bytes_free(device); needed > free)
      too_large(n, "GPU " + std::to_string(device), needed, free);
  }
  host *= processes.on_host();
  if (const auto free = host_bytes_free(); host > free) too_large(n, "the host", host, free);
}

}  // namespace

std::int64_t host_bytes_free() {
  std::ifstream meminfo("/proc/meminfo");
  std::string key;
  std::int64_t kibibytes = 0;
  std::string rest;
  while (meminfo >> key >> kibibytes && std::getline(meminfo, rest))
    if (key == "MemAvailable:") return kibibytes * 1024;
  return INT64_MAX;  // unknown: it is tried
}

void require_host_memory(int n) {
  const std::int64_t needed = host_bytes_a_particle * n;
  if (const auto free = host_bytes_free(); needed > free) too_large(n, "the host", needed, free);
}

void require_capacity(const Engine& engine, Processes& processes, int n,
                      const ScheduleOptions& schedule) {
  require(!schedule.graph || schedule.name != Schedule::star_serial,
          "--graph: the copies of star-serial block and cannot be recorded");
  require(!schedule.graph || engine.path() != schema::Path::host,
          "--graph: CUDA graphs belong to GPUs; the host engine has none");
  require_devices(engine, processes, schedule);
  try {
    engine.check(schedule.kernel);
  } catch (const std::invalid_argument& error) {
    throw InputError("--kernel " + std::string(support::name(schedule.kernel.name)) + ": " +
                     error.what());
  }
  require_memory(engine, processes, n, schedule);
}

}  // namespace gpucast::mdapp
