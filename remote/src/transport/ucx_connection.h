// A connection over UCX: InfiniBand and RoCE where there are adapters of them, else TCP or shared
// memory, as UCX's own variables (UCX_TLS, UCX_NET_DEVICES) say. It begins over a connection of
// another kind, over which the two ends tell each other where they are.
//
// UCX itself neither encrypts nor asks who speaks, and believes what comes under it.
#pragma once

#include <memory>

#include "gpucast/support/descriptor.h"
#include "transport/connection.h"

namespace gpucast::remote {

// Whether this build has it.
bool has_ucx();

// Both ends call it, and one of them `begins`. `greeted`, on which nothing else is on its way, is
// no longer needed then; `line` is another descriptor of its socket, whose end is the new
// connection's. MissingLibrary or ConnectionLost with one line otherwise.
std::unique_ptr<Connection> meet_over_ucx(Connection& greeted, support::Descriptor line,
                                          bool begins, const Deadline& deadline);

}  // namespace gpucast::remote
