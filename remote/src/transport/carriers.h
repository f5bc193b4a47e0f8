// What can carry a client's calls in place of the socket over which it greets. A row in
// carriers.cpp is all that the greeting at both ends, the settings and the words of records know of
// it; Python has the rows from there, too (scripts/generate_remote_layer.py).
#pragma once

#include <memory>
#include <span>

#include "gpucast/support/descriptor.h"
#include "protocol/handshake.h"
#include "transport/connection.h"

namespace gpucast::remote {

struct CarrierKind {
  Carrier number{};            // in the greeting; it never changes
  const char* name = nullptr;  // in GPUCAST_REMOTE_TRANSPORT
  const char* word = nullptr;  // in records
  // One line for a client that asked for it by name and cannot have it.
  const char* needs = nullptr;
  // Whether it may carry what greets over the socket, as either end sees that. `secure`: over TLS.
  bool (*may_carry)(int socket, bool secure) = nullptr;
  // Both take over once the greeting is done, from another descriptor of its socket: at the server,
  // which begins, and at the client. Nothing where it cannot be after all, which either learns of
  // the other: the socket goes on then. ConnectionLost or std::runtime_error with one line.
  std::unique_ptr<Connection> (*offer)(support::Descriptor socket,
                                       const Deadline& deadline) = nullptr;
  std::unique_ptr<Connection> (*accept)(support::Descriptor socket,
                                        const Deadline& deadline) = nullptr;
};

// Through memory that both ends have, on one host: a ring each way (ring_connection.cpp). It takes
// over a Unix socket on which nothing is on its way.
std::unique_ptr<Connection> offer_rings(support::Descriptor socket, const Deadline& deadline);
std::unique_ptr<Connection> accept_rings(support::Descriptor socket, const Deadline& deadline);

std::span<const CarrierKind> carriers();
// nullptr for the socket itself, and for what is not known here.
const CarrierKind* find_carrier(Carrier number);

}  // namespace gpucast::remote
