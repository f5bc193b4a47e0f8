// Who disturbs whom, as tables and as a sentence.
#pragma once

#include <ostream>

#include "app/run.h"

namespace gpucast::microbench {

void print_contention(const Outcome& outcome, std::ostream& out);

}  // namespace gpucast::microbench
