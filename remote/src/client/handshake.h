// The first words to a server.
#pragma once

#include <string>

#include "protocol/handshake.h"
#include "transport/connection.h"

namespace gpucast::remote::client {

// Says what the connection is for, proves to have the secret and asks the same of the server;
// returns the session, which a control connection begins. ConnectionLost with one line otherwise.
SessionId shake_hands(Connection& connection, const Hello& hello, const std::string& secret,
                      const Deadline& deadline);

}  // namespace gpucast::remote::client
