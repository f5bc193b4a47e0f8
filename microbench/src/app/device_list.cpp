#include "app/device_list.h"

#include <numeric>

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

}  // namespace gpucast::microbench
