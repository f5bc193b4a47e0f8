// A connection through memory that both ends have, on one host: a ring each way. Who has nothing to
// read sleeps at the Unix socket that stays open beside it; while both ends look, the system is not
// asked for anything.
#pragma once

#include <memory>

#include "gpucast/support/descriptor.h"
#include "transport/connection.h"

namespace gpucast::remote {

// Takes over a Unix socket on which nothing is on its way, of which nothing is left in any buffer.
// The side that offers makes the memory; nothing where it cannot, which the other one is told.
// ConnectionLost or std::runtime_error with one line otherwise.
std::unique_ptr<Connection> offer_rings(support::Descriptor socket, const Deadline& deadline);
std::unique_ptr<Connection> accept_rings(support::Descriptor socket, const Deadline& deadline);

}  // namespace gpucast::remote
