// Who comes in: listens, asks newcomers for the secret, and gives each client a process of its own.
// It never touches the GPU, so that processes can be forked from it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "server/descriptors.h"
#include "transport/address.h"

namespace gpucast::remote {

struct DoorOptions {
  std::vector<Endpoint> listen;
  std::string secret;  // empty: none, which only this machine's own addresses may do without
  int most_clients = 64;
};

// What the new process of a client starts with.
struct NewClient {
  Descriptor lane;
  Descriptor door;  // brings the client's other connections
};

// Until SIGTERM or SIGINT. Returns in a new process for each client, with what it needs; in this
// one nothing, once all clients' processes have ended. `ready` is told the addresses. InputError
// where an address cannot be listened on.
std::optional<NewClient> keep_door(const DoorOptions& options, std::ostream& ready,
                                   std::ostream& log);

}  // namespace gpucast::remote
