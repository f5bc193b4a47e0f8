// Processes that run this program begun anew: each client's, so that nothing of the listener's is
// in its memory (the secret, other clients' sessions), and one that asks whether there is a GPU.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "gpucast/support/descriptor.h"
#include "protocol/handshake.h"
#include "security/key.h"
#include "server/session.h"

namespace gpucast::remote::server {

using support::Descriptor;

// ---- open connections, from the process that accepts them to the one that serves them ----

// A connection that has greeted, up to where the session's process takes over.
struct Greeted {
  Purpose purpose = Purpose::monitor;
  std::uint8_t number = 0;  // as in Hello
  Identity identity{};      // of TLS under the session's key
};

struct Passed {
  Greeted greeted;
  Descriptor descriptor;
};

// False if the other process is gone.
bool pass_descriptor(int to, Greeted greeted, int descriptor);
// Waits; nothing once the other process is gone.
std::optional<Passed> receive_descriptor(int from);

// ---- the program ----

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
  Descriptor images;  // of ImageCache::make(); none where images are not kept
  Admitted admitted = {};
  SessionOptions options = {};
};

// Begins it in a new process, as this program with these words, which it reads anew; 0 where that
// cannot be. Until the process runs the program it has no memory of its own, and nothing but the C
// library runs in it.
pid_t begin_client_program(const std::vector<std::string>& words, int control, int others,
                           const Descriptor& images);

// What such a program was begun with and was told, but for the options, and tells the listener that
// it has begun; nothing where the words are a user's, which is all that is left of them.
// std::runtime_error if the listener's process is gone.
std::optional<ClientProgram> client_program(std::vector<std::string>& words);

// Has this process end when its parent, which has to be `parent`, ends; false if it is gone.
bool end_with_parent(pid_t parent);

// Serves until the client is gone; then it does not return but ends the process: threads may wait
// for a GPU that never comes to an end. The exit status is 1 if the client broke the protocol.
[[noreturn]] void serve_client(ClientProgram client, std::ostream& log);

// ---- whether a server has what it is to lend ----

// The driver is asked by a process of its own, which ends: the server's own process, which has the
// secret, never has a driver in its memory. Waits for that process, which is this program begun
// anew with these words. False where there is no driver or no such GPU; the process has said so on
// stderr, in a line.
bool gpu_is_there(const std::vector<std::string>& words);

// Whether this is such a process; a user's words are left.
bool asks_for_gpu(std::vector<std::string>& words);
// What it does: InputError with the line where the GPU is not there.
void require_gpu(const std::string& libcuda, int gpu);

}  // namespace gpucast::remote::server
