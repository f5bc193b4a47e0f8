#include "gpucast/records/this_machine.h"

#include <sched.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <thread>

namespace gpucast::records {

namespace {

utsname system_names() {
  utsname names{};
  ::uname(&names);
  return names;
}

// 20250131T120000.250Z: what of a time is fit for an id and for a file's name.
std::string compact(std::string moment) {
  std::erase_if(moment, [](char character) { return character == '-' || character == ':'; });
  return moment;
}

}  // namespace

std::optional<std::string> cpu_model(std::istream& cpuinfo) {
  const std::string key = "model name";
  for (std::string line; std::getline(cpuinfo, line);) {
    const auto colon = line.find(':');
    if (!line.starts_with(key) || colon == std::string::npos) {
      continue;
    }
    const auto first = line.find_first_not_of(" \t", colon + 1);
    const auto last = line.find_last_not_of(" \t\r");
    if (first != std::string::npos) {
      return line.substr(first, last - first + 1);
    }
  }
  return std::nullopt;
}

std::int64_t allowed_cores() {
  // The kernel refuses a set smaller than its own; 1024 processors are not enough everywhere.
  for (std::size_t count = CPU_SETSIZE; count <= (std::size_t{1} << 20U); count *= 4) {
    std::vector<cpu_set_t> set(count / CPU_SETSIZE);
    const std::size_t size = set.size() * sizeof(cpu_set_t);
    if (::sched_getaffinity(0, size, set.data()) == 0) {
      return CPU_COUNT_S(size, set.data());
    }
  }
  return std::max(1U, std::thread::hardware_concurrency());
}

std::string utc(std::chrono::system_clock::time_point moment) {
  using std::chrono::milliseconds;
  const auto since = std::chrono::floor<milliseconds>(moment.time_since_epoch());
  const auto whole = std::chrono::floor<std::chrono::seconds>(since);
  const auto seconds = static_cast<std::time_t>(whole.count());
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  std::array<char, 32> date{};
  const std::size_t length = std::strftime(date.data(), date.size(), "%Y-%m-%dT%H:%M:%S", &parts);
  std::string fraction = std::to_string((since - whole).count());
  fraction.insert(0, 3 - fraction.size(), '0');
  return std::string(date.data(), length) + "." + fraction + "Z";
}

Machine this_machine(const Tool& tool, const std::vector<std::string>& command,
                     const std::string& id) {
  const utsname names = system_names();
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
