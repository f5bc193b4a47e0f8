// gpucast-mdapp check: does this machine compute what it should? Needs nothing but the program.
#include <memory>
#include <nlohmann/json.hpp>

#include "app/checks.h"
#include "app/command.h"
#include "engine/engine.h"
#include "gpucast/devices/engine_options.h"
#include "gpucast/support/human.h"

namespace gpucast::mdapp {
namespace {

class CheckCommand : public Command {
 public:
  support::Options declare(support::CommandLine& line) override {
    support::Options command = line.command(
        "check", "hold forces, bytes and trajectories of this machine's devices against limits");
    engine_.declare(command);
    command.flag("--json", json_, "one JSON object on stdout");
    command.flag("--failed", only_failed_, "list only what failed");
    return command;
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
                    << std::flush;  // line by line: it takes a while
      }
    };
    check_engine(*engine, report, context.interrupted);
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
