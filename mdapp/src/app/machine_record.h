// The machine record: this host and the devices of an engine.
#pragma once

#include <string>
#include <vector>

#include "engine/engine.h"
#include "gpucast/records/records.h"

namespace gpucast::mdapp {

records::Machine machine_record(const Engine& engine, const std::vector<std::string>& command_line);

}  // namespace gpucast::mdapp
