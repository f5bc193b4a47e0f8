// What was measured, as tables for people.
#pragma once

#include <ostream>

#include "app/run.h"

namespace gpucast::microbench {

void print_report(const Outcome& outcome, std::ostream& out);

}  // namespace gpucast::microbench
