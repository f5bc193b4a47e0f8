// The possible carriers of a client's calls in place of the socket that it greets over. A row in
// carriers.cpp is all that the greeting at both ends, the settings and the vocabulary of records
// need; Python reads the rows from there, too (scripts/generate_remote_layer.py).
#pragma once

#include <memory>
#include <span>

#include "gpucast/support/descriptor.h"
#include "protocol/handshake.h"
#include "transport/connection.h"

namespace gpucast::remote {

struct CarrierKind {
  Carrier number{};            // in the greeting; never changes
  const char* name = nullptr;  // in GPUCAST_REMOTE_TRANSPORT
  const char* word = nullptr;  // in records
  // One line for a client that requested it by name and cannot have it.
  const char* needs = nullptr;
  // Whether it may carry a connection that greets over the socket, as either end sees that.
  // `secure`: over TLS.
  bool (*may_carry)(int socket, bool secure) = nullptr;
  // Both take over after the greeting, on another descriptor of its socket: the first at the
  // server, which begins, the second at the client. They return nothing if it turns out to be
  // impossible, which either end learns from the other: the socket then continues. They throw
  // ConnectionLost or std::runtime_error with one line.
  std::unique_ptr<Connection> (*offer)(support::Descriptor socket,
                                       const Deadline& deadline) = nullptr;
  std::unique_ptr<Connection> (*accept)(support::Descriptor socket,
                                        const Deadline& deadline) = nullptr;
};

// Shared memory of both ends on one host: a ring per direction (ring_connection.cpp). They take
// over a Unix socket without data in transit.
std::unique_ptr<Connection> offer_rings(support::Descriptor socket, const Deadline& deadline);
std::unique_ptr<Connection> accept_rings(support::Descriptor socket, const Deadline& deadline);

std::span<const CarrierKind> carriers();
// Returns nullptr for the socket itself, and for unknown numbers.
const CarrierKind* find_carrier(Carrier number);

}  // namespace gpucast::remote
