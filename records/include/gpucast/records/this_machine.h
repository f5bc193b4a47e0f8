// The machine record's part that needs no GPU: host, processor, program, start.
#pragma once

#include <chrono>
#include <cstdint>
#include <istream>
#include <optional>
#include <string>
#include <vector>

#include "gpucast/records/records.h"

namespace gpucast::records {

// Describes the host, processor, program and start of this run. `id`: common to runs that belong
// together (records of one id count as one machine); empty: made of host, start and process number.
Machine this_machine(const Tool& tool, const std::vector<std::string>& command,
                     const std::string& id = "");

// Returns the processor's name from the text of /proc/cpuinfo; nothing if it has none (ARM).
std::optional<std::string> cpu_model(std::istream& cpuinfo);

// Cores that this process may run on, which a job scheduler or taskset may limit.
std::int64_t allowed_cores();

// 2025-01-31T12:00:00.250Z
std::string utc(std::chrono::system_clock::time_point moment);

}  // namespace gpucast::records
