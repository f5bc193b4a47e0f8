#include "app/engine_options.h"

#include "app/context.h"
#include "app/words.h"

namespace gpucast::mdapp {
namespace {

constexpr int most_host_devices = 1024;

}  // namespace

void EngineOptions::declare(support::Options command) {
  declared_ = {
      command.add("--engine", engine_, support::choices<EngineChoice>()).show_default(),
      command
          .add("--host-devices", host_devices_, "devices of the engine host (0: one for each core)")
          .show_default()};
}

void EngineOptions::refuse_given(const std::string& why) const {
  for (const support::Option& option : declared_)
    option.refuse_given(why);
}

std::unique_ptr<Engine> EngineOptions::open(std::ostream& err) const {
  const auto choice = support::parse_word<EngineChoice>("--engine", engine_);
  if (host_devices_ < 0 || host_devices_ > most_host_devices) {
    throw support::InputError("--host-devices: must be from 0 to " +
                              std::to_string(most_host_devices));
  }
  if (choice == EngineChoice::host) return host_engine(host_devices_);
  std::string why_not;
  if (auto engine = cuda_engine(why_not)) return engine;
  if (choice == EngineChoice::cuda) throw support::InputError("--engine cuda: " + why_not);
  err << program << ": note: CPU threads compute, " << why_not << "\n";
  return host_engine(host_devices_);
}

}  // namespace gpucast::mdapp
