// The first words of every connection, each of fixed size:
//
//   client: Hello       what it is for
//   server: Challenge   its version; whether a secret is needed, and a nonce
//   client: Answer      a nonce, and a MAC of both nonces under the secret
//   server: Welcome     in, or why not; a MAC of both nonces, so that the client knows it too
//
// Without a secret the MACs are 0.
#pragma once

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

enum class Purpose : std::uint16_t {
  control = 1,  // begins a session: a server process of its own
  monitor,      // signs of life in both directions (protocol/heartbeat.h)
  bulk,         // data of large copies, both ways
};

struct Hello {
  std::uint64_t magic = handshake_magic;
  std::uint32_t version = protocol_version;
  Purpose purpose = Purpose::control;
  std::uint16_t index = 0;  // of a bulk connection
  SessionId session{};      // that a monitor or bulk connection belongs to
  static constexpr std::size_t size = 32;
};

struct Challenge {
  std::uint64_t magic = handshake_magic;
  std::uint32_t version = protocol_version;
  std::uint32_t needs_secret = 0;
  Nonce nonce{};
  static constexpr std::size_t size = 48;
};

struct Answer {
  Nonce nonce{};
  Mac mac{};
  static constexpr std::size_t size = 64;
};

enum class Entry : std::uint32_t {
  welcome = 0,
  wrong_secret,
  too_many_clients,
  unknown_session,
  failed,
};

struct Welcome {
  Entry entry = Entry::welcome;
  SessionId session{};
  Mac mac{};
  static constexpr std::size_t size = 52;
};

// Any of them, as it is sent.
template <class Message>
std::vector<std::byte> packed(const Message& message) {
  std::vector<std::byte> result;
  Writer writer(result);
  writer(message);
  return result;
}

}  // namespace gpucast::remote
