// The process that serves one client.
#pragma once

#include <iosfwd>

#include "server/client_program.h"

namespace gpucast::remote::server {

// Serves until the client is gone; then it does not return but ends the process: threads may wait
// for a GPU that never comes to an end. The exit status is 1 if the client broke the protocol.
[[noreturn]] void serve_client(ClientProgram client, std::ostream& log);

}  // namespace gpucast::remote::server
