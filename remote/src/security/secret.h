// The secret that servers and clients share: where it is, and what keys are made of it. It is kept
// no longer than that takes.
#pragma once

#include <optional>
#include <string>

#include "protocol/handshake.h"
#include "security/key.h"

namespace gpucast::remote {

struct SecretKeys {
  Key tls;    // what TLS 1.3 is begun with (security/tls.h)
  Key plain;  // what the MACs of plain connections are made with
  std::string file = {};
  bool is_own = false;  // the user's own, which nobody named
};

// From the file's content without white space at the end. std::runtime_error with one line that
// names the file if it cannot be read, others than its owner may read it, or what it holds can be
// guessed: less than 16 bytes, few different ones, repetitions, rows of neighbours.
SecretKeys read_secret(const std::string& file);

// From the secret that one user's servers and clients on one host share where none is named: they
// have a file of their own (security/own_file.h) that the first server makes.
SecretKeys make_own_secret();
// The same for a client; nothing where no server has made one.
std::optional<SecretKeys> find_own_secret();

enum class Side : std::uint8_t { client = 1, server = 2 };

// HMAC-SHA256 over who speaks, both nonces, and what the connection is for.
Mac prove(const Key& key, Side side, const Hello& hello, const Nonce& server, const Nonce& client);

}  // namespace gpucast::remote
