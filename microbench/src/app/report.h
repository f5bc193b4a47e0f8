// What was measured, as tables for people.
#pragma once

#include <ostream>

#include "app/run.h"

namespace gpucast::microbench {

void print_report(const Outcome& outcome, std::ostream& out);

// Its part on who disturbs whom, as tables and as a sentence.
void print_contention(const Outcome& outcome, std::ostream& out);

}  // namespace gpucast::microbench
