// gpucast-mdapp throughput: pairs per second of the kernels without copies, compared in one run.
#include <nlohmann/json.hpp>

#include "app/plan.h"
#include "gpucast/devices/clock.h"
#include "gpucast/model/workload.h"
#include "gpucast/support/human.h"
#include "gpucast/support/number_list.h"
#include "gpucast/support/stopping.h"
#include "physics/reference.h"

namespace gpucast::mdapp {
namespace {

// A kernel to compare.
struct Variant {
  const char* name;
  KernelName kernel;
  BoundaryKind boundary;
  Output output;
};

constexpr Variant variants[] = {
    {"tuned", KernelName::tuned, BoundaryKind::open, Output::forces},
    {"tuned, with energies", KernelName::tuned, BoundaryKind::open, Output::forces_and_sums},
    {"tuned, minimum image", KernelName::tuned, BoundaryKind::minimum_image, Output::forces},
    {"tuned, dsf", KernelName::tuned, BoundaryKind::dsf, Output::forces},
    {"claret", KernelName::claret, BoundaryKind::open, Output::forces},
};

// Seconds of one evaluation on the slowest device, by its own clock.
double compute(const Devices& devices, Output output) {
  devices.mark(0);
  devices.compute(output);
  devices.mark(1);
  devices.wait();
  double seconds = 0;
  for (Device* device : devices.all())
    seconds = std::max(seconds, device->seconds_between(0, 1));
  return seconds;
}

// Ordered pairs a second of one core in double precision.
double scalar_loop_pairs_per_second() {
  constexpr int n = 2048;
  const System system = rock_salt(nacl(), n);
  double shortest = 1e300;
  for (int repetition = 0; repetition < 5; ++repetition) {
    const auto begin = devices::Clock::now();
    scalar_forces(system);
    shortest = std::min(shortest, devices::seconds_since(begin));
  }
  return static_cast<double>(n) * n / shortest;
}

class Throughput : public Command {
 public:
  void declare(CLI::App* command) override {
    command->add_option("-n,--n", n_, "particles (0: 262144 on GPUs, 8192 on CPUs)");
    command->add_option("--gpus", gpus_, "devices: 1,2,4 or 1-4; all compute at once");
    engine_.declare(command);
    command->add_option("--seconds", seconds_, "minimum seconds of repetitions for each figure")
        ->transform(support::in_seconds());
    command->add_option("--warm-up", warm_up_, "seconds of warming up before the first figure")
        ->transform(support::in_seconds());
    command->add_flag("--json", json_, "one JSON object on stdout");
  }

  int run(Context& context) override {
    require_one_process(context, "throughput");
    support::require_not_negative("--seconds", seconds_);
    support::require_not_negative("--warm-up", warm_up_);
    const auto engine = engine_.open(context, host_engine, cuda_engine);
    int n = static_cast<int>(support::parse_number("--n", n_, {.least = 0, .most = 100'000'000}));
    if (n == 0) n = engine->path() == schema::Path::host ? 8192 : 262144;
    const auto gpus = counts("--gpus", gpus_, 65536);
    for (const int count : gpus) {
      require_capacity(
          *engine, context.processes, n,
          {.name = Schedule::star_async, .gpus = count, .kernel = {.name = KernelName::tuned}});
    }

    auto rows = nlohmann::ordered_json::array();
    // Measured first and alone: on a CPU, devices share the cores with it.
    const double reference = scalar_loop_pairs_per_second();
    rows.push_back({{"kernel", "scalar double loop on one core"},
                    {"boundary", "open"},
                    {"pairs_per_second", reference}});
    if (!json_) print_heading(context, n, *engine, reference);
    for (const Variant& variant : variants) {
      double alone = 0;  // of one device, if that is measured
      for (const int count : gpus) {
        const double seconds = kernel_seconds(*engine, variant, n, count, context.interrupted);
        if (context.interrupted.stop_requested()) {
          if (json_) print_json(context, *engine, n, rows);
          context.err << program << ": error: interrupted\n";
          return 1;
        }
        const double rate = static_cast<double>(n) * n / seconds;
        if (count == 1) alone = rate;
        rows.push_back(row(variant, n, count, rate, reference));
        if (alone > 0) rows.back()["efficiency"] = rate / count / alone;
        if (!json_) print(context, rows.back());
      }
    }
    if (json_) print_json(context, *engine, n, rows);
    return 0;
  }

 private:
  // Median seconds of one evaluation of all n^2 pairs by GPUs that compute their slices at the same
  // time; 0 if interrupted before the first.
  double kernel_seconds(Engine& engine, const Variant& variant, int n, int gpus,
                        const std::stop_token& interrupted) const {
    const System system = rock_salt(nacl(), n, {.kind = variant.boundary});
    const auto positions = engine.array<Position>(static_cast<std::size_t>(n), Memory::pinned);
    const Devices devices(
        engine, system,
        {.name = Schedule::star_async, .gpus = gpus, .kernel = {.name = variant.kernel}});
    pack(system, {0, n}, positions.span());
    devices.upload(positions.span());
    devices.wait();
    support::WarmUp warm_up({.least_seconds = warm_up_, .most_seconds = 5 * warm_up_});
    do {
      warm_up.add(compute(devices, variant.output));
    } while (!warm_up.done() && !interrupted.stop_requested());
    constexpr std::size_t repetitions = 5;
    std::vector<double> samples;
    double sum = 0;
    while (!interrupted.stop_requested() && (sum < seconds_ || samples.size() < repetitions)) {
      samples.push_back(compute(devices, variant.output));
      sum += samples.back();
    }
    return samples.empty() ? 0 : support::median(samples);
  }

  static void print_json(Context& context, const Engine& engine, int n,
                         const nlohmann::ordered_json& rows) {
    const DeviceInfo device = engine.devices().front();
    nlohmann::ordered_json result{
        {"engine", name(engine.path())}, {"device", device.name}, {"n", n}, {"throughput", rows}};
    if (device.cores) result["cores"] = *device.cores;
    if (device.clock_hz) result["clock_hz"] = *device.clock_hz;
    context.out << result << "\n";
  }

  static nlohmann::ordered_json row(const Variant& variant, int n, int gpus, double rate,
                                    double reference) {
    return {{"kernel", variant.name},
            {"boundary", schema::name(variant.boundary)},
            {"n", n},
            {"gpus", gpus},
            {"seconds", static_cast<double>(n) * n / rate},
            {"pairs_per_second", rate},
            {"pairs_per_second_and_gpu", rate / gpus},
            {"over_scalar_double_loop", rate / gpus / reference},
            {"claret_gflops", model::all_pairs.operations * rate * 1e-9}};
  }

  static void print_heading(Context& context, int n, const Engine& engine, double reference) {
    context.out << "n = " << n << " on " << engine.devices().front().name << "\n"
                << "scalar double loop on one core: " << support::figure("%.3e", reference)
                << " pairs/s\n\n"
                << "kernel                  GPUs    pairs/s  a GPU      efficiency"
                   "  over the scalar loop\n";
  }

  static void print(Context& context, const nlohmann::ordered_json& row) {
    std::string kernel = row["kernel"];
    kernel.resize(22, ' ');
    context.out << kernel << support::figure("%6.0f", row["gpus"])
                << support::figure("%11.3e", row["pairs_per_second"])
                << support::figure("%11.3e", row["pairs_per_second_and_gpu"])
                << (row.contains("efficiency")
                        ? support::figure("%11.1f %%", 100 * row["efficiency"].get<double>())
                        : "            -")
                << support::figure("%13.1f", row["over_scalar_double_loop"]) << "\n"
                << std::flush;
  }

  devices::EngineOptions engine_;
  std::string n_ = "0";
  std::string gpus_ = "1";
  double warm_up_ = 1;    // s at least
  double seconds_ = 0.5;  // of repetitions at least
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> throughput_command() { return std::make_unique<Throughput>(); }

}  // namespace gpucast::mdapp
