#include "process_folder.h"

#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <nlohmann/json.hpp>
#include <system_error>

namespace gpucast::trace {
namespace {

std::int64_t read_clock(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

std::string program() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::string first;
  std::getline(file, first, '\0');
  return first;
}

nlohmann::ordered_json as_json(const ClockReading& reading) {
  return {{"realtime_ns", reading.realtime}, {"monotonic_ns", reading.monotonic}};
}

// Returns this process's rank in its job if a launcher has set it.
std::optional<int> rank_of_process() {
  // Open MPI, MPICH and Intel MPI, PMIx, torchrun, Slurm: in a Slurm job the other variables are
  // more precise.
  for (const char* name :
       {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "RANK", "SLURM_PROCID"}) {
    const char* const value = std::getenv(name);
    if (value == nullptr) continue;
    const std::string_view text(value);
    int rank = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), rank);
    if (error == std::errc{} && end == text.data() + text.size() && rank >= 0) return rank;
  }
  return std::nullopt;
}

}  // namespace

ClockReading read_clocks() {
  return {.realtime = read_clock(CLOCK_REALTIME), .monotonic = read_clock(CLOCK_MONOTONIC)};
}

ProcessFolder::ProcessFolder(const std::filesystem::path& recording) {
  // Other processes of the run choose their folders at the same time, so that only a folder that
  // was made here counts.
  for (int number = 0;; ++number) {
    path_ = recording / std::to_string(number);
    if (std::filesystem::create_directory(path_)) return;
  }
}

void ProcessFolder::describe(const ProcessFacts& facts) const {
  nlohmann::ordered_json content{{"pid", ::getpid()}};
  if (const std::optional<int> rank = rank_of_process()) content["rank"] = *rank;
  content["program"] = program();
  content["cupti"] = facts.cupti;
  content["calls"] = facts.counts.calls;
  content["work"] = facts.counts.work;
  content["lost"] = facts.lost;
  content["untimed"] = facts.counts.untimed;
  content["inner"] = facts.counts.inner;
  content["polls"] = facts.counts.polls;
  if (facts.phase)
    content["phase"] = {{"start_ns", facts.phase->start_ns}, {"full", facts.phase->full}};
  content["clocks"] = {as_json(facts.begun), as_json(facts.now)};
  content["ended"] = facts.ended;
  const std::filesystem::path part = path_ / "process.json.part";
  std::ofstream file(part, std::ios::binary);
  // A program's name may contain any bytes.
  file << content.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) << '\n';
  file.close();
  if (!file) throw std::system_error(errno, std::generic_category(), part.string());
  std::filesystem::rename(part, path_ / "process.json");
}

void report_problem(const std::filesystem::path& recording, const std::string& line) noexcept {
  try {
    std::ofstream(recording / ("problem-" + std::to_string(::getpid()))) << line << '\n';
  } catch (...) {  // NOLINT(bugprone-empty-catch): it is on stderr, too
  }
}

}  // namespace gpucast::trace
