// Processes that run this program from its beginning: one for each client, so that it has nothing
// of the listener's in its memory (the secret, other clients' sessions), and one that checks
// whether there is a GPU.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gpucast/support/descriptor.h"
#include "protocol/handshake.h"
#include "security/key.h"
#include "server/session.h"

namespace gpucast::remote::server {

using support::Descriptor;

// ---- passing connections from the process that accepts them to the one that serves them ----

// A connection after its greeting, for the session's process.
struct Greeted {
  Purpose purpose = Purpose::monitor;
  std::uint8_t number = 0;  // as in Hello
  Identity identity{};      // of TLS under the session's key
};

struct Passed {
  Greeted greeted;
  Descriptor descriptor;
};

// Returns false if the other process is gone.
bool pass_descriptor(int to, Greeted greeted, int descriptor);
// Waits; returns nothing once the other process is gone.
std::optional<Passed> receive_descriptor(int from);

// ---- the program ----

// What the listener sends to a client's program after its start. The secret is not included and
// cannot be derived from it: the session's key is random.
struct Admitted {
  Security security = Security::tls;
  std::array<std::uint8_t, Key::size> key{};  // for TLS on all connections of the client
  Identity identity{};                        // of the control connection
  Carrier carrier = Carrier::socket;          // of the control connection
};
bool tell(int other, const Admitted& admitted);

// Everything that the program needs to serve its client.
struct ClientProgram {
  Descriptor control;
  Descriptor others;  // delivers the client's other connections
  Descriptor images;  // of ImageCache::make(); none if images are not kept
  Admitted admitted = {};
  SessionOptions options = {};
};

// Starts this program with these words in a new process; returns 0 if that fails. Until the new
// process runs the program, it has no memory of its own and runs only code of the C library.
pid_t begin_client_program(const std::vector<std::string>& words, int control, int others,
                           const Descriptor& images);

// Returns the inherited descriptors and received data of such a program, except for its options,
// and reports to the listener that it has started. Returns nothing for a user's command line.
// `words` keeps the user's options. Throws std::runtime_error if the listener's process is gone.
std::optional<ClientProgram> client_program(std::vector<std::string>& words);

// Lets this process end with its parent, which has to be `parent`; returns false if that is gone.
bool end_with_parent(pid_t parent);

// Serves until the client is gone; then ends the process instead of returning, since threads may
// wait for a GPU that never finishes. The exit status is 1 if the client violated the protocol.
[[noreturn]] void serve_client(ClientProgram client, Log& log);

// ---- checking for the GPU to lend ----

// Queries the driver in a separate process, since the server's own process has the secret and must
// never have a driver in its memory. Waits for that process, which runs this program with these
// words. Returns false if there is no driver or no such GPU; the process has then printed one line
// on stderr.
bool gpu_is_there(const std::vector<std::string>& words);

// Whether this is such a process; `words` keeps the user's options.
bool asks_for_gpu(std::vector<std::string>& words);
// The check of that process: throws InputError with one line if the GPU does not exist.
void require_gpu(const std::string& libcuda, int gpu);

}  // namespace gpucast::remote::server
