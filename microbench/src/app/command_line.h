// The program behind main(): which command, and its exit status.
#pragma once

#include "app/context.h"

namespace gpucast::microbench {

// Throws InputError for wrong options.
int run_command_line(Context& context);

}  // namespace gpucast::microbench
