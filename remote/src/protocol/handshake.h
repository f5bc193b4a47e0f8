// The first words of every connection, each of fixed size. In the clear:
//
//   client: Hello       what it is for, and whether it speaks TLS
//   server: Challenge   its version, whether it speaks TLS, whether it has the session; a nonce
//
// Both sides end here where they do not speak the same: none falls back to the other. Then with
// TLS, whose key's identity is what was said so far, so that who changes that ends the connection:
//
//   a control connection   TLS under the secret with the listener, which says
//     server: Admission    in, or why not; the session, and a new key for it
//                          then, on the same connection, TLS anew under the session's key
//   others                 TLS under the session's key
//
// and without:
//
//   client: Answer      a nonce, and a MAC of both nonces under the secret
//   server: Welcome     in, or why not; a MAC of both nonces, so that the client knows it too
//
// Where both have said that something else carries the connection, the client then sends a byte,
// which says that all of the greeting is behind it, and the other carrier takes over the socket
// below, outside TLS. Shared memory: the server's answer is a byte, and with it a descriptor of the
// memory; without one, the connection stays as it is. Behind the handshake the memory is not
// encrypted: who has it are the two processes. Over TLS it is only asked for and agreed to where
// the other end of the Unix socket is a process of the same user or of root, which no proxy between
// them is that could not read their memory anyway.
//
// The process that serves a client shakes hands under the session's key, and so needs to know no
// more than that (server/client_program.h).
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "protocol/limits.h"
#include "protocol/wire.h"

namespace gpucast::remote {

inline constexpr std::uint64_t handshake_magic = 0x5453414355504721;  // "!GPUCAST"

using SessionId = std::array<std::uint8_t, 16>;
using Nonce = std::array<std::uint8_t, 32>;
using Mac = std::array<std::uint8_t, 32>;

enum class Purpose : std::uint8_t {
  control = 1,  // begins a session: a server process of its own
  monitor,      // signs of life in both directions (protocol/heartbeat.h)
  bulk,         // data of large copies, both ways
  host,         // functions of the program's that stand in streams (HostTurn, HostDone)
};

enum class Security : std::uint8_t {
  plain = 0,  // MACs in the greeting, and then neither encrypted nor signed
  tls,
};

// What carries a control connection behind its greeting, and behind TLS's handshake: the socket, or
// what transport/carriers.cpp has under the number.
enum class Carrier : std::uint8_t { socket = 0 };

struct Hello {
  std::uint64_t magic = handshake_magic;
  std::uint32_t version = protocol_version;
  Purpose purpose = Purpose::control;
  std::uint8_t number = 0;  // of a bulk connection, from 1, by which signs of life speak of it
  Security security = Security::tls;
  Carrier carrier = Carrier::socket;  // that the client would have
  SessionId session{};                // that a monitor or bulk connection belongs to
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
  Carrier carrier = Carrier::socket;  // that it is to be; another only where it was asked for
  Entry entry = Entry::welcome;       // as far as it is known already
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

// Which TLS it is, of those that one connection may have.
enum class Stage : std::uint8_t { door = 1, session };

using Identity = std::array<std::byte, Hello::size + Challenge::size + 1>;

inline Identity identity_of(const Hello& hello, const Challenge& challenge, Stage stage) {
  Identity result{};
  std::ranges::copy(packed(hello, challenge, stage), result.begin());
  return result;
}

}  // namespace gpucast::remote
