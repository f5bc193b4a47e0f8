// The program that a client's process runs: the server's own, begun anew, so that nothing of the
// listener's is in its memory (the secret, other clients' sessions).
#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "security/key.h"
#include "server/descriptors.h"
#include "server/session.h"

namespace gpucast::remote::server {

// What the listener tells such a program once it has begun. The secret is not in it, and does not
// follow from it: the session's key is random.
struct Admitted {
  Security security = Security::tls;
  std::array<std::uint8_t, Key::size> key{};  // of TLS, on all connections of the client
  Identity identity{};                        // of the control connection
  Carrier carrier = Carrier::socket;          // of the control connection
};
bool tell(int other, const Admitted& admitted);

// What the program serves its client with.
struct ClientProgram {
  Descriptor control;
  Descriptor others;  // brings the client's other connections
  Security security = Security::tls;
  Key key;  // of the session
  Identity identity{};
  Carrier carrier = Carrier::socket;
  SessionOptions options;
};

// Begins it in a new process, as this program under `name`; 0 where that cannot be. Until the
// process runs the program it has no memory of its own, and nothing but the C library runs in it.
pid_t begin_client_program(const std::string& name, int control, int others,
                           const SessionOptions& options);

// What such a program was begun with and was told, and tells the listener that it has begun;
// nothing where the words are a user's. std::runtime_error if the listener's process is gone.
std::optional<ClientProgram> client_program(const std::vector<std::string>& words);

// Has this process end when its parent, which has to be `parent`, ends; false if it is gone.
bool end_with_parent(pid_t parent);

}  // namespace gpucast::remote::server
