// Whether a server has what it is to lend. The driver is asked by a process of its own, which ends:
// the server's own process, which has the secret, never has a driver in its memory.
#pragma once

#include <string>
#include <vector>

#include "server/session.h"

namespace gpucast::remote::server {

// Waits for that process, which is this program under `name` begun anew. False where there is no
// driver or no such GPU; the process has said so on stderr, in a line.
bool gpu_is_there(const std::string& name, const SessionOptions& options);

// What such a process does: true where the words are for one, and the GPU is there.
// std::runtime_error with the line where it is not.
bool checked_gpu(const std::vector<std::string>& words);

}  // namespace gpucast::remote::server
