// TLS 1.3 with a key that both sides know beforehand (RFC 8446, external PSK with (EC)DHE), by
// OpenSSL: who does not have the key neither reads nor changes what is said, nor does who learns it
// later (the exchange on X25519). One suite, TLS_AES_128_GCM_SHA256: what processors with AES
// instructions do fastest. No certificates, no tickets, no early data.
//
// It only transforms bytes: room() is filled with what the network brought, and unsent() is what
// has to go there. Any ordered connection carries it, one without a file descriptor too, which
// OpenSSL's own socket BIO and the kernel's TLS need.
//
// libssl is linked statically for the same reason as libcrypto (key.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <stdexcept>
#include <vector>

#include "security/key.h"

namespace gpucast::remote {

struct TlsState;  // libssl's

// What came is not what the other end said, or it does not have the key. The connection is over.
class TlsError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Bytes of data that are sealed together, at most.
inline constexpr std::size_t tls_record_bytes = 16384;
// Bytes of data that may be written before what they became is sent.
inline constexpr std::size_t most_unsent = std::size_t{256} << 10;

enum class TlsSide : std::uint8_t { client, server };

class Tls {
 public:
  // Who shakes hands has to have the same key and the same identity, of at least a byte, which is
  // sent in the clear and stands for what both sides have said before. std::runtime_error for want
  // of memory.
  Tls(TlsSide side, const Key& key, std::span<const std::byte> identity);
  ~Tls();
  Tls(const Tls&) = delete;
  Tls& operator=(const Tls&) = delete;

  // Where the network's next bytes go, and then how many have come. It is never empty where all was
  // read that could be.
  std::span<std::byte> room();
  void came(std::size_t bytes);
  // What has to be sent next, and then how much of it was: all is once this is empty.
  std::span<const std::byte> unsent();
  void sent(std::size_t bytes);

  // Goes on with what has come; true once both sides have shown that they have the key. What is
  // unsent is to be sent either way, and when this throws TlsError: it tells the other end.
  bool shake_hands();

  // After that one thread reads and fills the room, and one writes and sends; libssl serves them
  // record by record in turns.
  // What is to be had of what has come, at most.
  std::size_t readable();
  // What has come, 0 for nothing whole; TlsError.
  std::size_t read(std::span<std::byte> into);
  // Together they have `most_unsent` bytes at most, and nothing is unsent. TlsError.
  void write(std::span<const std::byte> first, std::span<const std::byte> second = {});
  // A new key after that number of records, long before AES-GCM's bound of 2^24.5 (RFC 8446, 5.5),
  // which libssl leaves to its user.
  void replace_key_after(std::uint64_t records) { most_records_ = records; }

 private:
  void write_record(std::span<const std::byte> data);

  std::mutex mutex_;  // libssl's, with both ends of the buffers that it reads and writes
  std::unique_ptr<TlsState> state_;
  std::vector<std::byte> joined_;  // one record's data, of both that were given
  std::uint64_t records_ = 0;
  std::uint64_t most_records_ = std::uint64_t{1} << 23;
};

}  // namespace gpucast::remote
