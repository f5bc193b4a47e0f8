// The secret that servers and clients share: where it is, and what keys are made of it. It is kept
// no longer than that takes. And files that one user's programs on one host have in common.
#pragma once

#include <functional>
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
// have a file of their own that the first server makes.
SecretKeys make_own_secret();
// The same for a client; nothing where no server has made one.
std::optional<SecretKeys> find_own_secret();

enum class Side : std::uint8_t { client = 1, server = 2 };

// HMAC-SHA256 over who speaks, both nonces, and what the connection is for.
Mac prove(const Key& key, Side side, const Hello& hello, const Nonce& server, const Nonce& client);

// ---- files that nobody but this user may read ----

// Where the file of that name is: in $XDG_RUNTIME_DIR, or in /tmp/gpucast-UID where that is no
// folder of the user's own. std::runtime_error where others could enter that one.
std::string own_file_path(const std::string& name);

// Its content; nothing where there is none. std::runtime_error with one line where others could
// read or change it.
std::optional<std::string> read_own_file(const std::string& path);

// The same, and where there is none, made with this content, and with its folder: whole or not at
// all, and by the first who comes.
std::string read_or_make_own_file(const std::string& path,
                                  const std::function<std::string()>& content);

}  // namespace gpucast::remote
