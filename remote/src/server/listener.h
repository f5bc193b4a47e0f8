// Who comes in: listens, asks newcomers for the secret, and gives each client a process of its own.
//
// The secret and the session ids stay in this process: each client's process runs a program begun
// anew (posix_spawn), never a copy of this one, and the client is welcomed only once that program
// has said so. From before its client is welcomed until its end, such a process has nothing of this
// one's memory.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

#include "transport/address.h"

namespace gpucast::remote::server {

struct ListenerOptions {
  std::vector<Endpoint> listen;
  std::string secret;  // empty: none, which only this machine's own addresses may do without
  int most_clients = 64;
};

// Begins the process of a client, which serves the connection `control` and receives the
// client's other connections over `others`, where it says first that it has begun. 0 where there is
// no new process.
using BeginClient = std::function<pid_t(int control, int others)>;

// Until SIGTERM or SIGINT, and until all clients' processes have ended. `ready` is told the
// addresses. InputError where an address cannot be listened on.
void serve_clients(const ListenerOptions& options, const BeginClient& begin, std::ostream& ready,
                   std::ostream& log);

}  // namespace gpucast::remote::server
