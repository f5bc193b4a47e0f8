// The shared secret, and how each side proves that it has it.
#pragma once

#include <string>

#include "protocol/handshake.h"

namespace gpucast::remote {

// The file's content without white space at the end. std::runtime_error with one line if it cannot
// be read, holds less than 16 bytes, or others than its owner may read it.
std::string read_secret(const std::string& file);

// Fills them from the system's random generator.
void fill_random(std::span<std::uint8_t> bytes);

enum class Side : std::uint8_t { client = 1, server = 2 };

// HMAC-SHA256 under the secret over who speaks, both nonces, and what the connection is for; 0
// where there is no secret.
Mac prove(const std::string& secret, Side side, const Hello& hello, const Nonce& server,
          const Nonce& client);

}  // namespace gpucast::remote
