// From the command line to the command that runs.
#pragma once

#include "app/context.h"

namespace gpucast::mdapp {

// Returns the exit status; throws InputError for what cannot be understood.
int run_command_line(Context& context);

}  // namespace gpucast::mdapp
