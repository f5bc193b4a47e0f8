#include "app/capacity.h"
#include "gpucast/support/human.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <stdexcept>
#include <string>

#include "app/command.h"
#include "app/words.h"
#include "gpucast/support/errors.h"

namespace gpucast::mdapp {
namespace {

using support::InputError;

// A particle on the host: the system twice while it is set up (position, velocity, order; 52
// bytes), what is drawn for its start, and what travels (36 bytes).
constexpr std::int64_t host_bytes_a_particle = 2 * 52 + 32 + 36;

std::string devices_of(const Engine& engine, std::size_t count) {
  const std::string noun = engine.path() == schema::Path::host ? "core" : "GPU";
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

// Devices that the processes of one host have between them. Launchers bind each process to cores of
// its own, which are then all that it sees.
std::size_t on_this_host(const Engine& engine) {
  const std::size_t seen = engine.devices().size();
  if (engine.path() != schema::Path::host) return seen;
  return std::max(seen, static_cast<std::size_t>(sysconf(_SC_NPROCESSORS_ONLN)));
}

// A process a device: those of one host must not share any. All of them ask, and get one answer.
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
    if (on_host) {
      host += needed;
    } else if (const auto free = engine.bytes_free(device); needed > free) {
      too_large(n, "GPU " + std::to_string(device), needed, free);
    }
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
  while (meminfo >> key >> kibibytes && std::getline(meminfo, rest)) {
    if (key == "MemAvailable:") return kibibytes * 1024;
  }
  return INT64_MAX;  // not known: it is tried
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
