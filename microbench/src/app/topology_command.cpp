// gpucast-microbench topology: what the machine record says, without measuring anything.
#include <nlohmann/json.hpp>
#include <numeric>

#include "app/command.h"
#include "engine/engine.h"
#include "gpucast/devices/engine_options.h"
#include "gpucast/support/errors.h"
#include "gpucast/support/number_list.h"

namespace gpucast::microbench {

std::vector<int> devices_of(const std::string& list, const Engine& engine) {
  const int count = engine.count();
  std::vector<int> devices;
  if (list.empty()) {
    devices.resize(static_cast<std::size_t>(count));
    std::iota(devices.begin(), devices.end(), 0);
    return devices;
  }
  for (const auto number :
       support::parse_number_list("--devices", list, {.least = 0, .most = 65535})) {
    if (number >= count) {
      throw support::InputError("--devices: " + std::to_string(number) + " wanted, " +
                                std::to_string(count) + " present, from 0 on");
    }
    devices.push_back(static_cast<int>(number));
  }
  return devices;
}

namespace {

class Topology : public Command {
 public:
  CLI::App* declare(support::CommandLine& line) override {
    CLI::App* command =
        line.add_subcommand("topology", "devices and how they reach each other, as JSON");
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
