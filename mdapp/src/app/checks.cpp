#include "app/checks.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include "app/force_error.h"
#include "app/plan.h"
#include "app/words.h"
#include "gpucast/records/this_machine.h"
#include "physics/overlap.h"
#include "physics/start.h"
#include "schedule/stepper.h"

namespace gpucast::mdapp {
namespace {

constexpr double largest_rms_error = 1e-5;
constexpr double largest_error = 1e-4;
constexpr double largest_sum = 1e-6;
constexpr double largest_energy_error = 1e-6;
constexpr double largest_virial_error = 1e-5;  // over the energy: a small difference of large terms
constexpr double largest_difference = 1e-12;   // allgather, relative

constexpr int steps_compared = 20;

class EngineCheck {
 public:
  EngineCheck(Engine& engine, const std::function<void(const Check&)>& report,
              std::stop_token interrupted)
      : engine_(engine),
        report_(report),
        interrupted_(std::move(interrupted)),
        devices_(static_cast<int>(engine.devices().size())),
        gpus_(engine.path() != schema::Path::host),
        graphs_(gpus_) {}

  void run() {
    look_for_allgather();
    look_for_graphs();
    for (const Salt& salt : {nacl(), kcl()}) {
      for (const auto& [boundary, word] : schema::words<BoundaryKind>)
        forces(salt, boundary);
    }
    for (const int n : {1000, 997}) {
      bytes(n);
      for (const auto integrator : {IntegratorKind::verlet, IntegratorKind::nose_hoover}) {
        for (const auto kernel : {KernelName::claret, KernelName::tuned}) {
          trajectories(n, integrator, kernel);
        }
      }
    }
    small_systems();
    overlaps();
  }

 private:
  bool stopped() const { return interrupted_.stop_requested(); }

  // Machines without NCCL can do the rest.
  void look_for_allgather() {
    constexpr int few = 8;
    try {
      open(cell_of(few, KernelName::claret, Schedule::allgather, 1), IntegratorKind::verlet);
      allgathers_ = true;
    } catch (const DeviceError&) {
      throw;
    } catch (const std::runtime_error& error) {
      report_({.what = "schedule allgather", .skipped = error.what()});
    }
  }

  // As can those over remote GPUs.
  void look_for_graphs() {
    if (!graphs_) return;
    constexpr int few = 8;
    Cell cell = cell_of(few, KernelName::claret, Schedule::star_async, 1);
    cell.schedule.graph = true;
    try {
      after_steps(cell, IntegratorKind::verlet, 1);
    } catch (const DeviceError&) {
      throw;
    } catch (const std::runtime_error& error) {
      graphs_ = false;
      report_({.what = "steps as graphs", .skipped = error.what()});
    }
  }

  // ---- forces ----

  void forces(const Salt& salt, BoundaryKind boundary) {
    for (const auto& [kernel, word] : schema::words<KernelName>) {
      for (const int n : {8, 216, 997, 1000, 1234, 4096}) {
        if (stopped()) return;
        System system = rock_salt(salt, n, {.kind = boundary});
        displace(system, 0.5, static_cast<std::uint64_t>(n));
        const ReferenceForces exact =
            reference_forces_at_float(system, static_cast<int>(records::allowed_cores()));
        // One device, and all of them: tuned then splits its sums otherwise.
        for (const int gpus : {1, devices_}) {
          forces(system, {.gpus = gpus, .kernel = {.name = kernel}}, exact,
                 std::string(word) + " " + std::string(salt.name) + " " +
                     std::string(name(boundary)) + " n=" + std::to_string(n) +
                     " gpus=" + std::to_string(gpus));
          if (devices_ == 1) break;
        }
      }
    }
  }

  void forces(const System& system, const ScheduleOptions& options, const ReferenceForces& exact,
              const std::string& where) {
    const auto schedule = star(engine_, system, options);
    pack(system, {0, system.n()}, schedule->positions());
    schedule->compute();
    const ForceError error = force_error(system, schedule->forces(), exact);
    report_({"forces " + where + ": rms error", error.rms, largest_rms_error});
    report_({"forces " + where + ": largest error", error.largest, largest_error});
    report_({"forces " + where + ": |sum F|/sum |F|", error.sum, largest_sum});
    const Potential found = sum_of(system, schedule->compute_sums());
    const double scale = std::abs(exact.potential.energy);
    report_({"energy " + where + ": relative error",
             std::abs(found.energy - exact.potential.energy) / scale, largest_energy_error});
    report_({"virial " + where + ": error over the energy",
             std::abs(found.virial - exact.potential.virial) / scale, largest_virial_error});
  }

  // ---- bytes ----

  void bytes(int n) {
    for (const Cell& cell : host_integrated(n, KernelName::claret)) {
      if (stopped()) return;
      const auto stepper = open(cell, IntegratorKind::verlet);
      const auto before = stepper->traffic();
      stepper->steps(1);
      const auto after = stepper->traffic();
      std::int64_t back = 0;
      std::int64_t wrong = 0;
      for (std::size_t g = 0; g < after.size(); ++g) {
        back += after[g].d2h - before[g].d2h;
        wrong += std::abs(after[g].h2d - before[g].h2d - 16 * static_cast<std::int64_t>(n));
      }
      wrong += std::abs(back - 12 * static_cast<std::int64_t>(n));
      report_({"bytes off 16 n to each and 12 n back: " + describe(cell),
               static_cast<double>(wrong), 0});
    }
  }

  // ---- trajectories ----

  void trajectories(int n, IntegratorKind integrator, KernelName kernel) {
    trajectories_on_host(n, integrator, kernel);
    if (!allgathers_) return;
    // Connecting GPUs takes a second, so not all counts again.
    on_devices(n, integrator, kernel, kernel == KernelName::claret ? 1 : devices_);
  }

  void trajectories_on_host(int n, IntegratorKind integrator, KernelName kernel) {
    const std::string moved = " " + std::string(support::name(integrator)) + " ";
    std::optional<std::vector<double>> first;
    for (const Cell& cell : host_integrated(n, kernel)) {
      if (stopped()) return;
      const auto r = after_steps(cell, integrator, steps_compared);
      if (!first) first = r;
      report_({"coordinates that differ:" + moved + describe(cell), count_different(*first, r), 0});
    }
  }

  // Numbers of particles that leave some devices without any.
  void small_systems() {
    for (const int n : {1, 5, 9}) {
      for (const auto integrator : {IntegratorKind::verlet, IntegratorKind::nose_hoover}) {
        trajectories_on_host(n, integrator, KernelName::claret);
        if (allgathers_) on_devices(n, integrator, KernelName::claret, devices_);
      }
    }
  }

  void on_devices(int n, IntegratorKind integrator, KernelName kernel, int fewest) {
    const std::string moved = " " + std::string(support::name(integrator)) + " ";
    const Cell start = cell_of(n, kernel, Schedule::star_serial, 1);
    const auto expected = after_steps(start, integrator, 1);
    for (const bool graph : graph_choices()) {
      for (int gpus = fewest; gpus <= devices_; ++gpus) {
        if (stopped()) return;
        Cell cell = cell_of(n, kernel, Schedule::allgather, gpus);
        cell.schedule.graph = graph;
        const auto r = after_steps(cell, integrator, 1);
        report_({"relative difference after a step:" + moved + describe(cell),
                 largest_difference_of(expected, r), largest_difference});
      }
    }
  }

  std::vector<Cell> host_integrated(int n, KernelName kernel) const {
    std::vector<Cell> cells;
    for (int gpus = 1; gpus <= devices_; ++gpus) {
      cells.push_back(cell_of(n, kernel, Schedule::star_serial, gpus));
      cells.push_back(cells.back());
      cells.back().schedule.memory = Memory::pinned;
      for (const bool graph : graph_choices()) {
        cells.push_back(cell_of(n, kernel, Schedule::star_async, gpus));
        cells.back().schedule.graph = graph;
      }
    }
    return cells;
  }

  std::vector<bool> graph_choices() const {
    return graphs_ ? std::vector{false, true} : std::vector{false};
  }

  // tuned gives the same bits for the same split only; the host's kernels have none.
  Cell cell_of(int n, KernelName kernel, Schedule schedule, int gpus) const {
    const int split = kernel == KernelName::tuned && gpus_ ? 1 : 0;
    const bool serial = schedule == Schedule::star_serial;
    return {.n = n,
            .schedule = {.name = schedule,
                         .memory = serial ? Memory::pageable : Memory::pinned,
                         .gpus = gpus,
                         .kernel = {.name = kernel, .j_split = split}}};
  }

  std::unique_ptr<Stepper> open(const Cell& cell, IntegratorKind integrator) {
    constexpr double hot = 1100;  // K
    System system = rock_salt(nacl(), cell.n);
    set_velocities(system, hot, 1);
    return make_stepper(engine_, std::move(system), {.kind = integrator, .temperature = hot},
                        cell.schedule);
  }

  std::vector<double> after_steps(const Cell& cell, IntegratorKind integrator, int count) {
    const auto stepper = open(cell, integrator);
    stepper->steps(count);
    return stepper->system().r;
  }

  static double count_different(const std::vector<double>& a, const std::vector<double>& b) {
    double different = 0;
    for (std::size_t k = 0; k < a.size(); ++k)
      different += a[k] == b[k] ? 0 : 1;
    return different;
  }

  // The largest difference of two sets of positions, over their rms.
  static double largest_difference_of(const std::vector<double>& a, const std::vector<double>& b) {
    double squares = 0;
    double largest = 0;
    for (std::size_t k = 0; k < a.size(); ++k) {
      squares += a[k] * a[k];
      if (!(std::abs(a[k] - b[k]) <= largest)) largest = std::abs(a[k] - b[k]);
    }
    return squares > 0 ? largest / std::sqrt(squares / static_cast<double>(a.size())) : largest;
  }

  // ---- overlapping particles ----

  void overlaps() {
    for (const double apart : {0.0, 0.05}) {
      for (const auto& [kernel, kernel_word] : schema::words<KernelName>) {
        for (const auto schedule :
             {Schedule::star_serial, Schedule::star_async, Schedule::allgather}) {
          if (stopped()) return;
          if (schedule == Schedule::allgather && !allgathers_) continue;
          const Cell cell = cell_of(216, kernel, schedule, devices_);
          char distance[32];
          std::snprintf(distance, sizeof distance, "%.2f", apart);
          report_({"overlaps at " + std::string(distance) + " angstrom missed: " + describe(cell),
                   notices(cell, apart) ? 0.0 : 1.0, 0});
        }
      }
    }
  }

  bool notices(const Cell& cell, double apart) {
    System system = rock_salt(nacl(), cell.n);
    constexpr std::size_t one = 7;
    constexpr std::size_t other = 100;
    for (std::size_t a = 0; a < 3; ++a)
      system.r[3 * other + a] = system.r[3 * one + a];
    system.r[3 * other] += apart;
    const std::string pair = describe_overlap(system).substr(0, describe_overlap(system).find(':'));
    try {
      const auto stepper = make_stepper(engine_, std::move(system), {}, cell.schedule);
      stepper->steps(1);
    } catch (const Overlap& overlap) {
      return std::string(overlap.what()).starts_with(pair);
    }
    return false;
  }

  Engine& engine_;
  const std::function<void(const Check&)>& report_;
  std::stop_token interrupted_;
  int devices_;
  bool gpus_;
  bool graphs_;
  bool allgathers_ = false;
};

}  // namespace

void check_engine(Engine& engine, const std::function<void(const Check&)>& report,
                  const std::stop_token& interrupted) {
  EngineCheck(engine, report, interrupted).run();
}

}  // namespace gpucast::mdapp
