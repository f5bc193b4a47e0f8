#include "app/engine_options.h"

#include <CLI/CLI.hpp>

#include "app/context.h"
#include "app/words.h"

namespace gpucast::mdapp {
namespace {

constexpr int most_host_devices = 1024;

}  // namespace

void EngineOptions::declare(CLI::App& command) {
  declared_ = {
      command.add_option("--engine", engine_, choices<EngineChoice>())->capture_default_str(),
      command
          .add_option("--host-devices", host_devices_,
                      "devices of the engine host (0: one for each core)")
          ->capture_default_str()};
}

void EngineOptions::refuse_given(const std::string& why) const {
  for (const CLI::Option* option : declared_) {
    if (option->count() > 0) throw records::InputError(option->get_name() + ": " + why);
  }
}

std::unique_ptr<Engine> EngineOptions::open(std::ostream& err) const {
  const auto choice = records::parse_word<EngineChoice>("--engine", engine_);
  if (host_devices_ < 0 || host_devices_ > most_host_devices) {
    throw records::InputError("--host-devices: must be from 0 to " +
                              std::to_string(most_host_devices));
  }
  if (choice == EngineChoice::host) return host_engine(host_devices_);
  std::string why_not;
  if (auto engine = cuda_engine(why_not)) return engine;
  if (choice == EngineChoice::cuda) throw records::InputError("--engine cuda: " + why_not);
  err << program << ": note: CPU threads compute, " << why_not << "\n";
  return host_engine(host_devices_);
}

}  // namespace gpucast::mdapp
