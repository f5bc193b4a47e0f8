// The greeting of every connection; each message has a fixed size. Without encryption:
//
//   client: Hello       the connection's purpose, and whether it uses TLS
//   server: Challenge   its version, whether it uses TLS, whether it knows the session; a nonce
//
// Both sides stop here if they do not agree: neither falls back to the other's choice. Then with
// TLS, whose key identity contains these messages, so that changing them ends the connection:
//
//   a control connection   TLS under the secret with the listener, which sends
//     server: Admission    admission or a reason for refusal; the session, and a new key for it
//                          then, on the same connection, TLS again under the session's key
//   others                 TLS under the session's key
//
// and without:
//
//   client: Answer      a nonce, and a MAC of both nonces under the secret
//   server: Welcome     admission or a reason for refusal; a MAC of both nonces, so that the client
//                       knows the server, too
//
// If both have announced that another carrier takes over, the client then sends a byte, which marks
// the end of its greeting, and the other carrier takes over the socket below TLS. For shared
// memory, the server answers with a byte and a descriptor of the memory; without a descriptor, the
// connection stays as it is. The memory is not encrypted: only the two processes have it. Over TLS
// it is requested and granted only if the other end of the Unix socket is a process of the same
// user or of root, so that a proxy between them could read their memory anyway.
//
// The process that serves a client does the handshake under the session's key, and so needs to know
// no other (server/client_program.h).
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "protocol/limits.h"
#include "protocol/wire.h"

namespace gpucast::remote {

inline constexpr std::uint64_t handshake_magic = 0x5453414355504721;  // "!GPUCAST"

using SessionId = std::array<std::uint8_t, 16>;
using Nonce = std::array<std::uint8_t, 32>;
using Mac = std::array<std::uint8_t, 32>;

enum class Purpose : std::uint8_t {
  control = 1,  // begins a session, which has a server process of its own
  monitor,      // heartbeats in both directions (protocol/heartbeat.h)
  bulk,         // data of large copies in both directions
  host,         // host functions of the program in its streams (HostTurn, HostDone)
};

enum class Security : std::uint8_t {
  plain = 0,  // MACs in the greeting, and neither encryption nor signatures after it
  tls,
};

// The carrier of a control connection after its greeting and TLS handshake: the socket, or the
// entry of transport/carriers.cpp with this number.
enum class Carrier : std::uint8_t { socket = 0 };

struct Hello {
  std::uint64_t magic = handshake_magic;
  std::uint32_t version = protocol_version;
  Purpose purpose = Purpose::control;
  std::uint8_t number = 0;  // of a bulk connection, from 1, for heartbeats
  Security security = Security::tls;
  Carrier carrier = Carrier::socket;  // requested by the client
  SessionId session{};                // of a monitor or bulk connection
  static constexpr std::size_t size = 32;
};

enum class Entry : std::uint16_t {
  welcome = 0,
  wrong_secret,
  too_many_clients,
  unknown_session,
  failed,
};

struct Challenge {
  std::uint64_t magic = handshake_magic;
  std::uint32_t version = protocol_version;
  Security security = Security::tls;
  Carrier carrier = Carrier::socket;  // granted; another than the socket only if it was requested
  Entry entry = Entry::welcome;       // as far as it is known at this point
  Nonce nonce{};
  static constexpr std::size_t size = 48;
};

struct Answer {
  Nonce nonce{};
  Mac mac{};
  static constexpr std::size_t size = 64;
};

struct Welcome {
  Entry entry = Entry::welcome;
  std::uint16_t reserved = 0;
  SessionId session{};
  Mac mac{};
  static constexpr std::size_t size = 52;
};

struct Admission {
  Entry entry = Entry::welcome;
  SessionId session{};
  std::array<std::uint8_t, 32> key{};
  static constexpr std::size_t size = 50;
};

// The TLS handshake of a connection that may have two.
enum class Stage : std::uint8_t { door = 1, session };

using Identity = std::array<std::byte, Hello::size + Challenge::size + 1>;

inline Identity identity_of(const Hello& hello, const Challenge& challenge, Stage stage) {
  Identity result{};
  std::ranges::copy(packed(hello, challenge, stage), result.begin());
  return result;
}

}  // namespace gpucast::remote
