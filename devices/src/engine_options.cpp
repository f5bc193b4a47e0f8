#include "gpucast/devices/engine_options.h"

#include "gpucast/support/errors.h"
#include "gpucast/support/parse_word.h"

namespace gpucast::devices {
namespace {

constexpr int most_host_devices = 1024;
enum class Choice { automatic, host, cuda };

}  // namespace
}  // namespace gpucast::devices

namespace gpucast::schema {

template <>
inline constexpr Words<devices::Choice, 3> words<devices::Choice>{
    {{devices::Choice::automatic, "auto"},
     {devices::Choice::host, "host"},
     {devices::Choice::cuda, "cuda"}}};

}  // namespace gpucast::schema

namespace gpucast::devices {

void EngineOptions::declare(support::Options command) {
  declared_ = {
      command.add("--engine", engine_, support::choices<Choice>()).show_default(),
      command
          .add("--host-devices", host_devices_, "devices of the engine host (0: one for each core)")
          .show_default()};
}

void EngineOptions::refuse_given(const std::string& why) const {
  for (const support::Option& option : declared_)
    option.refuse_given(why);
}

std::vector<std::string> EngineOptions::arguments() const {
  return {"--engine", engine_, "--host-devices", std::to_string(host_devices_)};
}

bool EngineOptions::wants_gpus() const {
  const auto choice = support::parse_word<Choice>("--engine", engine_);
  if (host_devices_ < 0 || host_devices_ > most_host_devices) {
    throw support::InputError("--host-devices: must be from 0 to " +
                              std::to_string(most_host_devices));
  }
  return choice != Choice::host;
}

void EngineOptions::accept_host(const std::string& why_not, const support::Context& context) const {
  if (support::parse_word<Choice>("--engine", engine_) == Choice::cuda) {
    throw support::InputError("--engine cuda: " + why_not);
  }
  context.err << context.program << ": note: CPU threads stand for GPUs, " << why_not << "\n";
}

}  // namespace gpucast::devices
