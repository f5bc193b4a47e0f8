// Admits clients: listens, checks that newcomers know the secret, and gives each client a process
// of its own.
//
// The secret stays in this process: a client that connects over TLS does the handshake here, and
// receives a new random key, which the client's process receives, too. That process does another
// handshake under this key on every connection of the client; neither key follows from the other,
// and each handshake has its own key exchange, so that learning a key later does not reveal earlier
// data. No process is started for a stranger. (The alternative, TLS here and passing its traffic
// keys on, would need a record layer of our own: libssl does not accept keys.)
//
// Each client's process runs the program from its beginning (posix_spawn) and is never a copy of
// this one, and the client is admitted only when that program has reported. Such a process
// therefore never has any of this one's memory.
#pragma once

#include <sys/types.h>

#include <functional>
#include <vector>

#include "protocol/handshake.h"
#include "security/secret.h"
#include "server/log.h"
#include "transport/sockets.h"

namespace gpucast::remote::server {

struct ListenerOptions {
  std::vector<Endpoint> listen;
  Security security = Security::tls;
  SecretKeys secret;  // the user's own only if no address is reachable from other machines
  int most_clients = 64;
  bool log_clients = false;  // clients that enter and leave, and the signal that ends the server
};

// Starts the process of a client, which serves the connection `control` and receives over `others`
// its admission (Admitted) and the client's other connections, and reports there that it has
// started. Returns 0 if there is no new process.
using BeginClient = std::function<pid_t(int control, int others)>;

// Runs until SIGTERM or SIGINT, and until all clients' processes have ended. `ready` receives the
// addresses. Throws InputError if it cannot listen on an address.
void serve_clients(const ListenerOptions& options, const BeginClient& begin, std::ostream& ready,
                   Log& log);

}  // namespace gpucast::remote::server
