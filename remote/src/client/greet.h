// The first words to a server.
#pragma once

#include <memory>
#include <string>

#include "protocol/greeting.h"
#include "transport/connection.h"

namespace gpucast::remote::client {

// Says what the connection is for, proves to have the secret and asks the same of the server; a
// lane's `hello` gets the session that the server has begun. ConnectionLost with one line
// otherwise.
void greet(Connection& connection, Hello& hello, const std::string& secret,
           const Deadline& deadline);

}  // namespace gpucast::remote::client
