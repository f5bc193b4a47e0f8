// gpucast-microbench topology: what the machine record says, without measuring anything.
#include <nlohmann/json.hpp>

#include "app/command.h"
#include "engine/engine.h"
#include "gpucast/devices/engine_options.h"

namespace gpucast::microbench {
namespace {

class Topology : public Command {
 public:
  support::Options declare(support::CommandLine& line) override {
    support::Options command =
        line.command("topology", "devices and how they reach each other, as JSON");
    engine_.declare(command);
    return command;
  }

  int run(Context& context) override {
    const auto engine = engine_.open(context, host_engine, cuda_engine);
    constexpr int indent = 1;
    context.out << to_json(machine_record(*engine, context, "")).dump(indent) << "\n";
    return 0;
  }

 private:
  devices::EngineOptions engine_;
};

}  // namespace

std::unique_ptr<Command> topology_command() { return std::make_unique<Topology>(); }

}  // namespace gpucast::microbench
