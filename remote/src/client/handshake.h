// The first words to a server.
#pragma once

#include <memory>
#include <optional>

#include "protocol/handshake.h"
#include "security/key.h"
#include "security/secret.h"
#include "transport/connection.h"

namespace gpucast::remote::client {

// How a client speaks to its servers.
struct Credentials {
  Security security = Security::tls;
  std::optional<Carrier> carrier = {};    // nothing: the first that both ends can
  std::optional<SecretKeys> secret = {};  // nothing where none was named and none is the user's own
};

// What a connection is for, as Hello says it.
struct Greeting {
  Purpose purpose = Purpose::control;
  std::uint8_t number = 0;
};

// What a control connection begins, and the others belong to.
struct Session {
  SessionId id{};
  Key key;                            // of TLS
  Carrier carrier = Carrier::socket;  // of its control connection
};

// Says what the connection is for, proves to have the secret (or the session's key) and asks the
// same of the server. The session is given where the connection begins it. What is returned is
// encrypted and signed where that was asked for. ConnectionLost or TlsError with one line
// otherwise.
std::unique_ptr<Connection> shake_hands(std::unique_ptr<Connection> connection, Greeting greeting,
                                        Session& session, const Credentials& credentials,
                                        const Deadline& deadline);

}  // namespace gpucast::remote::client
