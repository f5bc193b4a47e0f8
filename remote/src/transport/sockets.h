// TCP and Unix sockets, by Asio.
#pragma once

#include <asio/generic/stream_protocol.hpp>
#include <asio/io_context.hpp>
#include <memory>

#include "transport/address.h"
#include "transport/connection.h"

namespace gpucast::remote {

using Socket = asio::generic::stream_protocol::socket;

// Takes over a connected socket. `is_tcp`: small messages go at once, and a peer that vanished is
// noticed.
std::unique_ptr<Connection> socket_connection(Socket socket);
void tune_tcp(Socket& socket);
std::unique_ptr<Connection> adopt_descriptor(int descriptor);

// ConnectionLost with one line where nobody listens or the deadline passes.
std::unique_ptr<Connection> connect_to(const Endpoint& endpoint, const Deadline& deadline);

}  // namespace gpucast::remote
