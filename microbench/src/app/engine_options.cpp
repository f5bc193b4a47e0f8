#include "app/engine_options.h"

#include <numeric>

#include "app/context.h"
#include "gpucast/support/errors.h"
#include "gpucast/support/number_list.h"
#include "gpucast/support/words.h"

namespace gpucast::microbench {

void EngineOptions::declare(support::Options command) {
  command.add("--engine", engine_, "auto, host, cuda").show_default();
  command.add("--host-devices", host_devices_, "devices of the engine host (0: one for each core)")
      .show_default();
}

std::unique_ptr<Engine> EngineOptions::open(std::ostream& err) const {
  constexpr int most_host_devices = 1024;
  if (host_devices_ < 0 || host_devices_ > most_host_devices) {
    throw support::InputError("--host-devices: must be from 0 to " +
                              std::to_string(most_host_devices));
  }
  if (engine_ == "host") return host_engine(host_devices_);
  if (engine_ != "auto" && engine_ != "cuda") {
    support::refuse_word("--engine", engine_, "auto, host, cuda");
  }
  std::string why_not;
  if (auto engine = cuda_engine(why_not)) return engine;
  if (engine_ == "cuda") throw support::InputError("--engine cuda: " + why_not);
  err << program << ": note: CPU threads stand for GPUs, " << why_not << "\n";
  return host_engine(host_devices_);
}

std::vector<std::string> EngineOptions::arguments() const {
  return {"--engine", engine_, "--host-devices", std::to_string(host_devices_)};
}

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

}  // namespace gpucast::microbench
