// Double precision computes on this host's threads: what belongs to devices does not go with it.
#pragma once

#include "app/context.h"
#include "app/grid_options.h"
#include "gpucast/devices/engine_options.h"

namespace gpucast::mdapp {

inline void require_no_devices(const devices::EngineOptions& engine, const GridOptions& schedule,
                               const Context& context) {
  engine.refuse_given("does not go with --precision double");
  schedule.refuse_given("does not go with --precision double");
  require_one_process(context, "--precision double");
}

}  // namespace gpucast::mdapp
