// gpucast-mdapp simulate: a physical run with observables and a trajectory.
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "app/command.h"
#include "app/plan.h"
#include "app/simulate.h"
#include "gpucast/records/record_file.h"
#include "gpucast/records/this_machine.h"
#include "gpucast/support/human.h"
#include "gpucast/support/number_list.h"
#include "physics/xyz.h"

namespace gpucast::mdapp {
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
