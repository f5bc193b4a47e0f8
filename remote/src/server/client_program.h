// The program that a client's process runs: the server's own, begun anew, so that nothing of the
// door's is left in its memory (the secret, other clients' sessions).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "server/door.h"
#include "server/session.h"

namespace gpucast::remote {

struct ClientProgram {
  NewClient client;
  SessionOptions options;
};

// In place of this process's program. std::runtime_error with one line where that cannot be.
[[noreturn]] void begin_client_program(const std::string& name, ClientProgram program);
// What such a program was begun with; nothing where the words are a user's.
std::optional<ClientProgram> client_program(const std::vector<std::string>& words);

}  // namespace gpucast::remote
