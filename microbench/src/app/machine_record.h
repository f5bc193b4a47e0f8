// The first record of every run.
#pragma once

#include <string>

#include "app/context.h"
#include "engine/engine.h"
#include "gpucast/records/records.h"

namespace gpucast::microbench {

// `id`: empty for one of this run alone.
records::Machine machine_record(const Engine& engine, const Context& context,
                                const std::string& id);

}  // namespace gpucast::microbench
