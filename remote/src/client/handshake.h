// The greeting of a server.
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
  std::optional<Carrier> carrier = {};  // nothing: the first one that both ends support
  // Nothing: no file was named, and the user has no secret of his own.
  std::optional<SecretKeys> secret = {};
};

// The purpose of a connection, as in Hello.
struct Greeting {
  Purpose purpose = Purpose::control;
  std::uint8_t number = 0;
};

// A session, which a control connection begins and the other connections belong to.
struct Session {
  SessionId id{};
  Key key;                            // of TLS
  Carrier carrier = Carrier::socket;  // of its control connection
};

// States the connection's purpose, proves that it knows the secret (or the session's key) and
// demands the same of the server. A control connection receives its session. The result is
// encrypted and signed if that was requested. Otherwise throws ConnectionLost or TlsError with one
// line.
std::unique_ptr<Connection> shake_hands(std::unique_ptr<Connection> connection, Greeting greeting,
                                        Session& session, const Credentials& credentials,
                                        const Deadline& deadline);

}  // namespace gpucast::remote::client
