// Runs of this program besides this one, to see what differs.
#pragma once

#include <stop_token>
#include <string>
#include <vector>

#include "measure/run_to_run.h"

namespace gpucast::microbench {

// What `count` fresh processes measured of the probes (measure --probes) with these options.
// Throws DeviceError where one fails.
RunToRun fresh_runs(int count, const std::vector<std::string>& engine_arguments,
                    const std::stop_token& interrupted);

// What a command of the shell writes to stdout; its stderr is lost. Throws DeviceError where it
// does not end with 0.
std::string output_of(const std::string& command);

}  // namespace gpucast::microbench
