// gpucast-mdapp check: tests whether this machine computes and moves data correctly. It needs
// nothing but the program.
#include <numeric>

#include "app/plan.h"
#include "gpucast/model/workload.h"
#include "gpucast/records/records.h"
#include "gpucast/support/human.h"
#include "physics/reference.h"

namespace gpucast::mdapp {
namespace {

struct Check {
  std::string what;
  double figure = 0;
  double limit = 0;          // the largest acceptable figure
  std::string skipped = {};  // why the check was not made

  bool passed() const { return !skipped.empty() || figure <= limit; }  // never with NaN
};

constexpr double largest_rms_error = 1e-5;
constexpr double largest_error = 1e-4;
constexpr double largest_sum = 1e-6;
constexpr double largest_energy_error = 1e-6;
// Relative to the energy: a small difference of large terms.
constexpr double largest_virial_error = 1e-5;
constexpr double largest_difference = 1e-12;  // allgather, relative

constexpr int steps_compared = 20;

// std::max would drop a NaN.
double larger(double so_far, double other) { return other <= so_far ? so_far : other; }

// Whether rounding could have moved a coordinate across the jump of the force that minimum image
// has where a pair is half a side apart in some direction.
bool at_jump(const System& system, std::size_t i) {
  if (system.boundary.kind != BoundaryKind::minimum_image) return false;
  const double side = system.boundary.side;
  const double close = 1e-6 * side;
  for (std::size_t k = 0; k < system.r.size(); ++k) {
    const double apart = nearest_image(system.r[3 * i + k % 3] - system.r[k], side);
    if (std::abs(apart) > side / 2 - close) return true;
  }
  return false;
}

// The error of single-precision forces, relative to the rms force.
struct ForceError {
  double rms = 0;
  double largest = 0;
  double sum = 0;  // |sum F| / sum |F|
};

// `exact`: in double precision at the same positions, rounded to float. Both sides of a jump are
// correct: particles that could be at one are excluded from rms and largest.
ForceError force_error(const System& system, std::span<const Force> forces,
                       const std::vector<double>& exact) {
  double squared_error = 0;
  double squared_force = 0;
  double largest = 0;
  double sum[3] = {};
  double lengths = 0;
  for (std::size_t k = 0; k < forces.size(); ++k) {
    const double own[3] = {forces[k].x, forces[k].y, forces[k].z};
    double error = 0;
    for (std::size_t a = 0; a < 3; ++a) {
      const double expected = exact[3 * k + a];
      error += (own[a] - expected) * (own[a] - expected);
      squared_force += expected * expected;
      sum[a] += own[a];
    }
    lengths += std::hypot(own[0], own[1], own[2]);
    if (at_jump(system, k)) continue;
    squared_error += error;
    largest = larger(largest, std::sqrt(error));
  }
  const double rms_force = std::sqrt(squared_force / system.n());
  return {.rms = std::sqrt(squared_error / system.n()) / rms_force,
          .largest = largest / rms_force,
          .sum = std::hypot(sum[0], sum[1], sum[2]) / lengths};
}

// The largest difference of two sets of positions, relative to their rms.
double largest_difference_of(const std::vector<double>& a, const std::vector<double>& b) {
  double squares = 0;
  double largest = 0;
  for (std::size_t k = 0; k < a.size(); ++k) {
    squares += a[k] * a[k];
    largest = larger(largest, std::abs(a[k] - b[k]));
  }
  return squares > 0 ? largest / std::sqrt(squares / static_cast<double>(a.size())) : largest;
}

// Calls `report` with each check: forces against double precision, bytes a step, trajectories over
// device counts and schedules, overlapping particles. Throws what devices throw.
class EngineCheck {
 public:
  EngineCheck(Engine& engine, const std::function<void(const Check&)>& report,
              std::stop_token interrupted)
      : engine_(engine),
        report_(report),
        interrupted_(std::move(interrupted)),
        devices_(static_cast<int>(engine.devices().size())),
        gpus_(engine.path() != schema::Path::host) {}

  void run() {
    look_for_what_may_be_missing();
    for (const Salt& salt : {nacl(), kcl()})
      for (const BoundaryKind boundary : schema::all<BoundaryKind>())
        forces(salt, boundary);
    for (const int n : {1000, 997}) {
      bytes(n);
      for (const auto integrator : schema::all<IntegratorKind>()) {
        for (const auto kernel : schema::all<KernelName>()) {
          // Connecting GPUs takes a second, so that not all counts are repeated.
          trajectories(n, integrator, kernel, kernel == KernelName::claret ? 1 : devices_);
        }
      }
    }
    // Numbers of particles that leave some devices without particles.
    for (const int n : {1, 5, 9})
      for (const auto integrator : schema::all<IntegratorKind>())
        trajectories(n, integrator, KernelName::claret, devices_);
    overlaps();
  }

 private:
  bool stopped() const { return interrupted_.stop_requested(); }

  // Machines without NCCL, and programs with remote GPUs without graphs, can still do the other
  // checks.
  void look_for_what_may_be_missing() {
    constexpr int few = 8;
    Cell cell = cell_of(few, KernelName::claret, Schedule::allgather, 1);
    allgathers_ = works(cell, "schedule allgather");
    cell = cell_of(few, KernelName::claret, Schedule::star_async, 1);
    cell.schedule.graph = true;
    graphs_ = gpus_ && works(cell, "steps as graphs");
  }

  bool works(const Cell& cell, const char* what) {
    try {
      after_steps(cell, IntegratorKind::verlet, 1);
      return true;
    } catch (const DeviceError&) {
      throw;
    } catch (const std::runtime_error& error) {
      report_({.what = what, .skipped = error.what()});
      return false;
    }
  }

  void forces(const Salt& salt, BoundaryKind boundary) {
    for (const KernelName kernel : schema::all<KernelName>()) {
      for (const int n : {8, 216, 997, 1000, 1234, 4096}) {
        if (stopped()) return;
        System system = rock_salt(salt, n, {.kind = boundary});
        displace(system, 0.5, static_cast<std::uint64_t>(n));
        const ReferenceForces exact =
            reference_forces_at_float(system, static_cast<int>(records::allowed_cores()));
        // With one device, and with all of them: tuned then splits its sums differently.
        for (const int gpus : {1, devices_}) {
          forces(system, {.gpus = gpus, .kernel = {.name = kernel}}, exact,
                 support::name(kernel) + " " + std::string(salt.name) + " " +
                     support::name(boundary) + " n=" + std::to_string(n) +
                     " gpus=" + std::to_string(gpus));
          if (devices_ == 1) break;
        }
      }
    }
  }

  void forces(const System& system, const ScheduleOptions& options, const ReferenceForces& exact,
              const std::string& where) {
    Star schedule(engine_, system, options);
    pack(system, {0, system.n()}, schedule.positions());
    schedule.compute();
    const ForceError error = force_error(system, schedule.forces(), exact.force);
    report_({"forces " + where + ": rms error", error.rms, largest_rms_error});
    report_({"forces " + where + ": largest error", error.largest, largest_error});
    report_({"forces " + where + ": |sum F|/sum |F|", error.sum, largest_sum});
    const Potential computed = sum_of(system, schedule.compute_sums());
    const double scale = std::abs(exact.potential.energy);
    report_({"energy " + where + ": relative error",
             std::abs(computed.energy - exact.potential.energy) / scale, largest_energy_error});
    report_({"virial " + where + ": error over the energy",
             std::abs(computed.virial - exact.potential.virial) / scale, largest_virial_error});
  }

  void bytes(int n) {
    for (const Cell& cell : host_integrated(n, KernelName::claret)) {
      if (stopped()) return;
      const auto stepper = open(cell, IntegratorKind::verlet);
      const auto before = stepper->traffic();
      stepper->steps(1);
      const auto after = stepper->traffic();
      double back = 0;
      double wrong = 0;
      for (std::size_t g = 0; g < after.size(); ++g) {
        const Traffic moved = after[g] - before[g];
        back += static_cast<double>(moved.d2h);
        wrong += std::abs(static_cast<double>(moved.h2d) - model::all_pairs.to_gpu(n, 1));
      }
      wrong += std::abs(back - model::all_pairs.from_gpu(n, 1));
      report_({"bytes off 16 n to each and 12 n back: " + describe(cell), wrong, 0});
    }
  }

  // Bitwise if the host integrates; allgather, from `fewest` devices on, after one step.
  void trajectories(int n, IntegratorKind integrator, KernelName kernel, int fewest) {
    const std::string moved = " " + support::name(integrator) + " ";
    std::optional<std::vector<double>> first;
    for (const Cell& cell : host_integrated(n, kernel)) {
      if (stopped()) return;
      const auto r = after_steps(cell, integrator, steps_compared);
      if (!first) first = r;
      const double different = std::inner_product(first->begin(), first->end(), r.begin(), 0.0,
                                                  std::plus<>(), std::not_equal_to<>());
      report_({"coordinates that differ:" + moved + describe(cell), different, 0});
    }
    if (!allgathers_) return;
    const auto expected = after_steps(cell_of(n, kernel, Schedule::star_serial, 1), integrator, 1);
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

  // tuned gives the same bits only for the same split; the host's kernels have none.
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

  void overlaps() {
    for (const double apart : {0.0, 0.05}) {
      for (const KernelName kernel : schema::all<KernelName>()) {
        for (const auto schedule :
             {Schedule::star_serial, Schedule::star_async, Schedule::allgather}) {
          if (stopped()) return;
          if (schedule == Schedule::allgather && !allgathers_) continue;
          const Cell cell = cell_of(216, kernel, schedule, devices_);
          report_({"overlaps at " + support::figure("%.2f", apart) +
                       " angstrom missed: " + describe(cell),
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
  bool graphs_ = false;
  bool allgathers_ = false;
};

class CheckCommand : public Command {
 public:
  void declare(CLI::App* command) override {
    engine_.declare(command);
    command->add_flag("--json", json_, "one JSON object on stdout");
    command->add_flag("--failed", only_failed_, "list only what failed");
  }

  int run(Context& context) override {
    require_one_process(context, "check");
    const auto engine = engine_.open(context, host_engine, cuda_engine);
    auto checks = nlohmann::ordered_json::array();
    int failed = 0;
    int skipped = 0;
    const auto report = [&](const Check& check) {
      if (!check.skipped.empty()) {
        ++skipped;
        checks.push_back({{"what", check.what}, {"skipped", check.skipped}});
        if (!json_)
          context.out << "skipped " << check.what << ": " << check.skipped << "\n" << std::flush;
        return;
      }
      failed += check.passed() ? 0 : 1;
      checks.push_back({{"what", check.what},
                        {"figure", check.figure},
                        {"limit", check.limit},
                        {"passed", check.passed()}});
      if (!json_ && !(only_failed_ && check.passed())) {
        context.out << (check.passed() ? "ok      " : "FAILED  ")
                    << support::figure("%9.2e", check.figure) << " (limit "
                    << support::figure("%.0e", check.limit) << ")  " << check.what << "\n"
                    << std::flush;  // line by line, since it takes a while
      }
    };
    EngineCheck(*engine, report, context.interrupted).run();
    const bool interrupted = context.interrupted.stop_requested();
    if (json_) {
      context.out << nlohmann::ordered_json{{"engine", name(engine->path())},
                                            {"devices", engine->devices().size()},
                                            {"failed", failed},
                                            {"interrupted", interrupted},
                                            {"checks", checks}}
                  << "\n";
    } else {
      context.out << name(engine->path()) << ", " << engine->devices().size()
                  << " devices: " << checks.size() - static_cast<std::size_t>(failed + skipped)
                  << " checks passed, " << failed << " failed, " << skipped << " skipped\n";
    }
    if (interrupted) context.err << program << ": error: interrupted\n";
    return failed > 0 || interrupted ? 1 : 0;
  }

 private:
  devices::EngineOptions engine_;
  bool json_ = false;
  bool only_failed_ = false;
};

}  // namespace

std::unique_ptr<Command> check_command() { return std::make_unique<CheckCommand>(); }

}  // namespace gpucast::mdapp
