// gpucast-mdapp throughput: pairs a second of the kernels, side by side in one run.
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "app/capacity.h"
#include "app/command.h"
#include "app/grid_options.h"
#include "app/physics_options.h"
#include "app/plan.h"
#include "app/scalar_loop.h"
#include "app/throughput.h"
#include "engine/engine.h"
#include "gpucast/devices/engine_options.h"
#include "gpucast/support/human.h"
#include "gpucast/support/number_list.h"
#include "physics/start.h"

namespace gpucast::mdapp {
namespace {

// What is put side by side.
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

class Throughput : public Command {
 public:
  support::Options declare(support::CommandLine& line) override {
    support::Options command =
        line.command("throughput", "pairs a second of the kernels, side by side in one run");
    command.add("--n", n_, "particles (0: 262144 on GPUs, 8192 on CPUs)").show_default();
    command.add("--gpus", gpus_, "devices: 1,2,4 or 1-4; all compute at once").show_default();
    engine_.declare(command);
    command.add("--seconds", options_.seconds, "of repetitions for each figure, at least")
        .show_default();
    command.add("--warm-up", options_.warm_up, "seconds before the first").show_default();
    command.flag("--json", json_, "one JSON object on stdout");
    return command;
  }

  int run(Context& context) override {
    require_one_process(context, "throughput");
    require(options_.seconds >= 0 && std::isfinite(options_.seconds),
            "--seconds: must not be negative");
    require(options_.warm_up >= 0 && std::isfinite(options_.warm_up),
            "--warm-up: must not be negative");
    const auto engine = engine_.open(context, host_engine, cuda_engine);
    const bool on_host = engine->path() == schema::Path::host;
    constexpr int many_for_gpus = 262144;
    constexpr int many_for_cpus = 8192;
    int n = static_cast<int>(support::parse_number("--n", n_, {.least = 0, .most = 100'000'000}));
    if (n == 0) n = on_host ? many_for_cpus : many_for_gpus;
    const auto gpus = counts("--gpus", gpus_, 65536);
    for (const int count : gpus) {
      require_capacity(
          *engine, context.processes, {}, n,
          {.name = Schedule::star_async, .gpus = count, .kernel = {.name = KernelName::tuned}});
    }

    auto rows = nlohmann::ordered_json::array();
    constexpr int scalar_n = 2048;
    // Alone and first: on a CPU, devices share the cores with it.
    const double reference = scalar_loop_pairs_per_second(rock_salt(nacl(), scalar_n));
    rows.push_back({{"kernel", "scalar double loop on one core"},
                    {"boundary", "open"},
                    {"pairs_per_second", reference}});
    if (!json_) print_heading(context, n, *engine, reference);
    for (const Variant& variant : variants) {
      double alone = 0;  // of one device, where it is asked for
      for (const int count : gpus) {
        const System system = rock_salt(nacl(), n, {.kind = variant.boundary});
        const double seconds = kernel_seconds(
            *engine, system,
            {.kernel = {.name = variant.kernel}, .output = variant.output, .gpus = count}, options_,
            context.interrupted);
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
  static void require(bool holds, const char* otherwise) {
    if (!holds) throw support::InputError(otherwise);
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
    constexpr double claret_flops = 78;  // a pair, by the paper's way of counting
    return {{"kernel", variant.name},
            {"boundary", name(variant.boundary)},
            {"n", n},
            {"gpus", gpus},
            {"seconds", static_cast<double>(n) * n / rate},
            {"pairs_per_second", rate},
            {"pairs_per_second_and_gpu", rate / gpus},
            {"over_scalar_double_loop", rate / gpus / reference},
            {"claret_gflops", claret_flops * rate * 1e-9}};
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
  ThroughputOptions options_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> throughput_command() { return std::make_unique<Throughput>(); }

}  // namespace gpucast::mdapp
