#include "app/simulate.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "app/plan.h"
#include "gpucast/devices/clock.h"
#include "gpucast/records/record_file.h"
#include "gpucast/records/records.h"
#include "gpucast/support/human.h"
#include "gpucast/support/number_list.h"
#include "physics/motion.h"
#include "physics/reference.h"
#include "physics/salt.h"
#include "physics/xyz.h"

namespace gpucast::mdapp {

namespace {

constexpr double longest_unwatched = 0.2;  // s between checks of Ctrl-C
constexpr std::int64_t most_unwatched = 4096;

// Makes `count` steps, or fewer if interrupted.
std::int64_t advance(Stepper& stepper, std::int64_t count, Processes& processes,
                     const std::stop_token& interrupted) {
  std::int64_t row = 1;
  std::int64_t made = 0;
  while (made < count) {
    const bool stop = interrupted.stop_requested();
    const auto next = static_cast<int>(
        processes.agree(stop ? 0.0 : static_cast<double>(std::min(row, count - made))));
    if (next == 0) break;
    const auto seconds = stepper.steps(next);
    made += next;
    const bool short_row =
        std::accumulate(seconds.begin(), seconds.end(), 0.0) < longest_unwatched / 2;
    row = short_row ? std::min(2 * row, most_unwatched) : std::max<std::int64_t>(1, row / 2);
  }
  return made;
}

Observation observe(Stepper& stepper, double time) {
  const Potential potential = stepper.potential();
  const System& system = stepper.system();
  const double n = system.n();
  Observation seen{.time = time,
                   .kinetic = kinetic_energy(system) / n,
                   .potential = potential.energy / n,
                   .temperature = temperature(system),
                   .pressure = pressure(system, potential),
                   .momentum = momentum(system)};
  seen.total = seen.kinetic + seen.potential;
  for (double& component : seen.momentum)
    component *= atomic_mass_unit * angstrom / time_unit;
  return seen;
}

}  // namespace

Summary summarize(const std::vector<Observation>& observations) {
  Summary summary;
  const auto count = static_cast<double>(observations.size());
  double mean_time = 0;
  double mean_total = 0;
  for (const Observation& seen : observations) {
    mean_time += seen.time / count;
    mean_total += seen.total / count;
    summary.mean_temperature += seen.temperature / count;
    summary.mean_pressure += seen.pressure / count;
  }
  double time_time = 0;
  double time_total = 0;
  double total_total = 0;
  for (const Observation& seen : observations) {
    const double t = seen.time - mean_time;
    const double e = seen.total - mean_total;
    time_time += t * t;
    time_total += t * e;
    total_total += e * e;
  }
  constexpr double picosecond = 1e-12;
  summary.total_rms = std::sqrt(total_total / count);
  if (time_time > 0) summary.total_drift = time_total / time_time * picosecond;
  return summary;
}

std::int64_t simulate(Stepper& stepper, const Simulation& simulation, Processes& processes,
                      const std::stop_token& interrupted) {
  const auto show = [&](std::int64_t made) {
    const double time = static_cast<double>(made) * simulation.dt;
    simulation.observed(observe(stepper, time));
    if (simulation.frame) simulation.frame(stepper.system(), time);
  };
  std::int64_t made = 0;
  show(made);
  while (made < simulation.steps) {
    const std::int64_t wanted = std::min(simulation.every, simulation.steps - made);
    const std::int64_t now = advance(stepper, wanted, processes, interrupted);
    made += now;
    if (now < wanted) break;
    show(made);
  }
  return made;
}

namespace {

using devices::Clock;

class DoubleStepper : public Stepper {
 public:
  DoubleStepper(System system, const IntegratorOptions& options, int threads)
      : system_(std::move(system)),
        verlet_(options.kind == IntegratorKind::verlet),
        motion_(motion_of(options, system_)),
        threads_(threads) {
    compute();
  }

  std::vector<double> steps(int count) override {
    std::vector<double> result;
    for (int k = 0; k < count; ++k) {
      const auto begin = Clock::now();
      step();
      result.push_back(devices::seconds_since(begin));
    }
    return result;
  }

  Phases step_in_phases() override { return {.cpu = steps(1).front()}; }

  const System& system() override { return system_; }
  Potential potential() override { return reference_forces(system_, threads_).potential; }
  std::vector<Traffic> traffic() const override { return {}; }

 private:
  void step() {
    if (verlet_) {
      kick_all(motion_);
      drift_all();
      compute();
      kick_all(motion_);
      return;
    }
    compute();
    Motion motion = with_friction(motion_, friction_);
    for (std::size_t k = 0; k < forces_.size(); ++k)
      motion.mean_force[k % 3] += forces_[k] / system_.n();
    kick_all(motion);
    friction_ = next_friction(friction_, 2 * kinetic_energy(system_), motion_);
    drift_all();
  }

  void compute() {
    forces_ = reference_forces(system_, threads_).force;
    for (const double force : forces_)
      if (!sound(static_cast<float>(force))) throw Overlap(describe_overlap(system_));
  }

  void kick_all(const Motion& motion) {
    for (std::size_t k = 0; k < forces_.size(); ++k)
      kick(system_.v[k], forces_[k], motion, system_.type(static_cast<int>(k / 3)),
           static_cast<int>(k % 3));
  }

  void drift_all() {
    for (std::size_t k = 0; k < forces_.size(); ++k)
      drift(system_.r[k], system_.v[k], motion_);
  }

  System system_;
  bool verlet_;
  Motion motion_;
  int threads_;
  double friction_ = 0;
  std::vector<double> forces_;
};

}  // namespace

std::unique_ptr<Stepper> double_stepper(System system, const IntegratorOptions& integrator,
                                        int threads) {
  return std::make_unique<DoubleStepper>(std::move(system), integrator, threads);
}

// gpucast-mdapp simulate: a physical run with observables and a trajectory.

namespace {

using Json = nlohmann::ordered_json;

constexpr std::int64_t most_steps = 1'000'000'000'000;

Json to_json(const Observation& seen) {
  return {{"time", seen.time},
          {"kinetic_eV_per_ion", seen.kinetic},
          {"potential_eV_per_ion", seen.potential},
          {"total_eV_per_ion", seen.total},
          {"temperature", seen.temperature},
          {"pressure", seen.pressure},
          {"momentum", seen.momentum}};
}

constexpr const char* heading =
    "     time/s   kinetic/eV potential/eV     total/eV  temperature/K  pressure/Pa  "
    "momentum/(kg m/s)\n";

void print(const Observation& seen, std::ostream& out) {
  const auto& p = seen.momentum;
  out << support::figure("%11.5g", seen.time) << support::figure(" %12.8f", seen.kinetic)
      << support::figure(" %12.8f", seen.potential) << support::figure(" %12.8f", seen.total)
      << support::figure("  %13.3f", seen.temperature) << support::figure("  %11.4g", seen.pressure)
      << support::figure("  %17.3g", std::hypot(p[0], p[1], p[2])) << "\n"
      << std::flush;
}

void print(const Summary& summary, std::ostream& out) {
  out << "\nenergy an ion: rms " << support::figure("%.3g", summary.total_rms) << " eV, drift "
      << support::figure("%.3g", summary.total_drift) << " eV/ps\nmean temperature "
      << support::figure("%.2f", summary.mean_temperature) << " K, mean pressure "
      << support::figure("%.4g", summary.mean_pressure) << " Pa\n";
}

class Simulate : public Command {
 public:
  void declare(CLI::App* command) override {
    start_.declare(command);
    CLI::Option* steps = command->add_option("--steps", steps_, "number of steps");
    command->add_option("--time", time_, "simulated time, s")->excludes(steps);
    physics_.declare_potential(command);
    physics_.declare_motion(command);
    command->add_option("--precision", precision_,
                        support::choices<Precision>() + " (double: on the host)");
    engine_.declare(command);
    schedule_.declare(command, false);
    command->add_option(
        "--every", every_,
        "number of steps between observations, or frames (default: 200 observations)");
    command->add_option("--trajectory", trajectory_, "extended XYZ file, for OVITO or VMD");
    command->add_flag("--force", force_, "replace the trajectory");
    command->add_flag("--json", json_, "one JSON object on stdout");
  }

  int run(Context& context) override {
    const Physics physics = physics_.read();
    const auto precision = support::parse_word<Precision>("--precision", precision_);
    const ScheduleOptions schedule = schedule_.read_one();
    if (precision == Precision::twice) schedule_.require_none(engine_, context);
    Simulation simulation{.steps = steps_of(physics), .dt = physics.integrator.dt};
    simulation.every = every_of(simulation.steps);
    System system = start_.read(physics);
    const std::int64_t n = system.n();
    std::unique_ptr<Engine> engine;
    if (precision == Precision::single) {
      engine = engine_.open(context, host_engine, cuda_engine);
      require_capacity(*engine, context.processes, system.n(), schedule);
    }
    if (context.writes() && !trajectory_.empty()) {
      using records::IfExists;
      file_.emplace(trajectory_, force_ ? IfExists::replace : IfExists::refuse, "--trajectory");
    }
    warn(physics, context.err);
    const auto stepper =
        precision == Precision::twice
            ? double_stepper(std::move(system), physics.integrator,
                             static_cast<int>(records::allowed_cores()))
            : make_stepper(*engine, std::move(system), physics.integrator, schedule);
    std::vector<Observation> observations;
    if (!json_) context.out << heading;
    simulation.observed = [&](const Observation& seen) {
      observations.push_back(seen);
      if (!json_) print(seen, context.out);
    };
    if (!trajectory_.empty()) {
      simulation.frame = [this](const System& now, double time) {
        if (file_) file_->write(xyz_frame(now, time));
      };
    }
    std::int64_t made = 0;
    try {
      made = mdapp::simulate(*stepper, simulation, context.processes, context.interrupted);
    } catch (...) {
      // Observations so far are kept; the last one shows how far the run got.
      if (json_ && !observations.empty()) {
        made = std::llround(observations.back().time / simulation.dt);
        conclude(observations, n, made, context.out);
      }
      throw;
    }
    if (file_) file_->close();
    conclude(observations, n, made, context.out);
    if (made == simulation.steps) return 0;
    context.err << program << ": error: interrupted after " << made << " of " << simulation.steps
                << " steps\n";
    return 1;
  }

 private:
  std::int64_t steps_of(const Physics& physics) const {
    if (!steps_.empty())
      return support::parse_number("--steps", steps_, {.least = 1, .most = most_steps});
    if (!time_) throw support::InputError("--steps: how many? (or --time SECONDS)");
    const double steps = *time_ / physics.integrator.dt;
    if (!(steps >= 0.5) || steps > static_cast<double>(most_steps)) {
      throw support::InputError("--time: must be from one step, " +
                                support::figure("%g", physics.integrator.dt) + " s, to 1e12 steps");
    }
    return std::llround(steps);
  }

  std::int64_t every_of(std::int64_t steps) const {
    constexpr std::int64_t observations = 200;
    if (every_.empty()) return std::max<std::int64_t>(1, steps / observations);
    return support::parse_number("--every", every_, {.least = 1, .most = most_steps});
  }

  void conclude(const std::vector<Observation>& observations, std::int64_t n, std::int64_t made,
                std::ostream& out) const {
    const Summary summary = summarize(observations);
    if (!json_) {
      print(summary, out);
      return;
    }
    Json json{{"observables", Json::array()},
              {"summary",
               {{"total_rms_eV_per_ion", summary.total_rms},
                {"total_drift_eV_per_ion_per_ps", summary.total_drift},
                {"mean_temperature", summary.mean_temperature},
                {"mean_pressure", summary.mean_pressure},
                {"n", n},
                {"steps", made}}}};
    for (const Observation& seen : observations)
      json["observables"].push_back(to_json(seen));
    out << json.dump() << "\n";
  }

  StartOptions start_;
  std::string steps_;
  std::optional<double> time_;
  PhysicsOptions physics_;
  std::string precision_ = "float";
  devices::EngineOptions engine_;
  GridOptions schedule_;
  std::string every_;
  std::string trajectory_;
  bool force_ = false;
  bool json_ = false;
  std::optional<records::WholeFile> file_;
};

}  // namespace

std::unique_ptr<Command> simulate_command() { return std::make_unique<Simulate>(); }

}  // namespace gpucast::mdapp
