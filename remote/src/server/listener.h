// Who comes in: listens, asks newcomers for the secret, and gives each client a process of its own.
//
// The secret stays in this process: who comes in over TLS shakes hands here, and is told a new
// random key, which the client's process is told too. That process shakes hands anew, under this
// key, on every connection of the client; neither key follows from the other, and each handshake
// has an exchange of its own, so that who learns a key later reads nothing of before. Nor does any
// process begin for a stranger. (The other way, TLS here and its traffic's keys handed on, would
// need record layers of our own: libssl does not take keys.)
//
// Each client's process runs a program begun anew (posix_spawn), never a copy of this one, and the
// client is welcomed only once that program has said so. From before its client is welcomed until
// its end, such a process has nothing of this one's memory.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

#include "protocol/handshake.h"
#include "security/secret.h"
#include "transport/sockets.h"

namespace gpucast::remote::server {

struct ListenerOptions {
  std::vector<Endpoint> listen;
  Security security = Security::tls;
  SecretKeys secret;  // the user's own only for this machine's own addresses
  int most_clients = 64;
  bool log_clients = false;  // who is let in and who leaves, and the signal that ends the server
};

// Begins the process of a client, which serves the connection `control` and receives the
// client's other connections over `others`, where it is told what it was admitted with (Admitted)
// and says that it has begun. 0 where there is no new process.
using BeginClient = std::function<pid_t(int control, int others)>;

// Until SIGTERM or SIGINT, and until all clients' processes have ended. `ready` is told the
// addresses. InputError where an address cannot be listened on.
void serve_clients(const ListenerOptions& options, const BeginClient& begin, std::ostream& ready,
                   std::ostream& log);

}  // namespace gpucast::remote::server
