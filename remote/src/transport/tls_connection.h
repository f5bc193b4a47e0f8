// TLS over a connection of any kind.
#pragma once

#include <memory>

#include "security/tls.h"
#include "transport/connection.h"

namespace gpucast::remote {

// Shakes hands; TlsError or ConnectionLost with one line where that fails, or is not over by the
// deadline.
std::unique_ptr<Connection> secure(std::unique_ptr<Connection> connection, TlsSide side,
                                   const Key& key, std::span<const std::byte> identity,
                                   const Deadline& deadline);

// The same in parts, over a connection that is plain again behind what was said over TLS.
void shake_hands(Connection& connection, Tls& tls, const Deadline& deadline);
void read_all(Connection& connection, Tls& tls, std::span<std::byte> into,
              const Deadline& deadline);

}  // namespace gpucast::remote
