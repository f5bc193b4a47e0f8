// TLS over a connection of any kind.
#pragma once

#include <memory>

#include "security/tls.h"
#include "transport/connection.h"

namespace gpucast::remote {

// Does the handshake; throws TlsError or ConnectionLost with one line if it fails, or is not
// finished by the deadline.
std::unique_ptr<Connection> secure(std::unique_ptr<Connection> connection, TlsSide side,
                                   const Key& key, std::span<const std::byte> identity,
                                   const Deadline& deadline);

// The same in steps, over a connection that is plain again after its TLS part.
void shake_hands(Connection& connection, Tls& tls, const Deadline& deadline);
void read_all(Connection& connection, Tls& tls, std::span<std::byte> into,
              const Deadline& deadline);

}  // namespace gpucast::remote
