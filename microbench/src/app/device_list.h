// Which of an engine's devices: lists that users give.
#pragma once

#include <string>
#include <vector>

#include "engine/engine.h"

namespace gpucast::microbench {

// The devices that a list names (empty: all). Throws InputError for one that is not there.
std::vector<int> devices_of(const std::string& list, const Engine& engine);

}  // namespace gpucast::microbench
