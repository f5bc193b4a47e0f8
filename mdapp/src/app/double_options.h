// Double precision computes on this host's threads: what belongs to devices does not go with it.
#pragma once

#include "app/engine_options.h"
#include "app/grid_options.h"
#include "gpucast/records/errors.h"
#include "schedule/processes.h"

namespace gpucast::mdapp {

inline void require_no_devices(const EngineOptions& engine, const GridOptions& schedule,
                               const Processes& processes) {
  engine.refuse_given("does not go with --precision double");
  schedule.refuse_given("does not go with --precision double");
  if (processes.size() > 1) {
    throw records::InputError("--precision double: runs in one process");
  }
}

}  // namespace gpucast::mdapp
