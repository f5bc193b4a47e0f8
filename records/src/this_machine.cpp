#include "gpucast/records/this_machine.h"

#include <sched.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <fstream>
#include <thread>

namespace gpucast::records {

namespace {

// 20250131T120000.250Z: a time in a form for ids and file names.
std::string compact(std::string moment) {
  std::erase_if(moment, [](char character) { return character == '-' || character == ':'; });
  return moment;
}

}  // namespace

std::optional<std::string> cpu_model(std::istream& cpuinfo) {
  const std::string key = "model name";
  for (std::string line; std::getline(cpuinfo, line);) {
    const auto colon = line.find(':');
    if (!line.starts_with(key) || colon == std::string::npos) continue;
    const auto first = line.find_first_not_of(" \t", colon + 1);
    const auto last = line.find_last_not_of(" \t\r");
    if (first != std::string::npos) return line.substr(first, last - first + 1);
  }
  return std::nullopt;
}

std::int64_t allowed_cores() {
  // The kernel refuses a set that is smaller than its own; on some machines 1024 processors are not
  // enough.
  for (std::size_t count = CPU_SETSIZE; count <= (std::size_t{1} << 20U); count *= 4) {
    std::vector<cpu_set_t> set(count / CPU_SETSIZE);
    const std::size_t size = set.size() * sizeof(cpu_set_t);
    if (::sched_getaffinity(0, size, set.data()) == 0) return CPU_COUNT_S(size, set.data());
  }
  return std::max(1U, std::thread::hardware_concurrency());
}

std::string utc(std::chrono::system_clock::time_point moment) {
  using namespace std::chrono;
  const auto day = floor<days>(moment);
  const year_month_day date(day);
  const hh_mm_ss time(floor<milliseconds>(moment - day));
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%04d-%02u-%02uT%02d:%02d:%02d.%03dZ", int{date.year()},
                unsigned{date.month()}, unsigned{date.day()},
                static_cast<int>(time.hours().count()), static_cast<int>(time.minutes().count()),
                static_cast<int>(time.seconds().count()),
                static_cast<int>(time.subseconds().count()));
  return text.data();
}

Machine this_machine(const Tool& tool, const std::vector<std::string>& command,
                     const std::string& id) {
  utsname names{};
  ::uname(&names);
  std::ifstream cpuinfo("/proc/cpuinfo");
  Machine machine;
  machine.host = std::string(std::begin(names.nodename));
  machine.cpu = cpu_model(cpuinfo).value_or(std::begin(names.machine));
  machine.cpu_cores = allowed_cores();
  machine.tool = tool;
  machine.started = utc(std::chrono::system_clock::now());
  machine.command = command;
  machine.id =
      id.empty() ? *machine.host + "-" + compact(*machine.started) + "-" + std::to_string(getpid())
                 : id;
  return machine;
}

}  // namespace gpucast::records
