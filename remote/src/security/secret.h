// The secret that servers and clients share: where it is stored, and the keys that are derived from
// it. It stays in memory only for that. Also, files that are common to one user's programs on a
// host.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "protocol/handshake.h"
#include "security/key.h"

namespace gpucast::remote {

struct SecretKeys {
  Key tls;    // for TLS 1.3 (security/tls.h)
  Key plain;  // for the MACs of plain connections
  std::string file = {};
  bool is_own = false;  // the user's own secret was taken by default
};

// Reads the file's content without trailing white space. Throws std::runtime_error with one line
// that names the file if it cannot be read, others than its owner may read it, or it can be
// guessed: less than 16 bytes, few different ones, repetitions, sequences.
SecretKeys read_secret(const std::string& file);

// Reads the default secret, which one user's servers and clients on a host share in a file that the
// first server makes.
SecretKeys make_own_secret();
// The same for a client; nothing if no server has made one.
std::optional<SecretKeys> find_own_secret();

enum class Side : std::uint8_t { client = 1, server = 2 };

// Returns the HMAC-SHA256 of the speaker's side, both nonces, and the connection's purpose.
Mac prove(const Key& key, Side side, const Hello& hello, const Nonce& server, const Nonce& client);

// ---- files that only this user may read ----

// Returns the file's path: in $XDG_RUNTIME_DIR, or in /tmp/gpucast-UID if that is no folder of the
// user's own. Throws std::runtime_error if others could enter the latter.
std::string own_file_path(const std::string& name);

// Returns its content; nothing if there is no file. Throws std::runtime_error with one line if
// others could read or change it.
std::optional<std::string> read_own_file(const std::string& path);

// The same; a missing file, and its folder, are made with this content by the first caller,
// completely or not at all.
std::string read_or_make_own_file(const std::string& path,
                                  const std::function<std::string()>& content);

}  // namespace gpucast::remote
