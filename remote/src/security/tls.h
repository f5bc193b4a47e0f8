// TLS 1.3 with a key that both sides know beforehand (RFC 8446, external PSK with (EC)DHE), by
// OpenSSL: who does not have the key neither reads nor changes what is said, nor does who learns it
// later (the exchange on X25519). One suite, TLS_AES_128_GCM_SHA256: what processors with AES
// instructions do fastest. No certificates, no tickets, no early data.
//
// It only transforms bytes: `in` is filled with what the network brought, and `out` is what has to go
// there. Any ordered connection carries it, one without a file descriptor too; that is why it is
// not OpenSSL's own socket BIO, nor the kernel's TLS, which would save a copy.
//
// libssl is linked statically for the same reason as libcrypto (hmac.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "security/key.h"

namespace gpucast::remote {

// What came is not what the other end said, or it does not have the key. The connection is over.
class TlsError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Where bytes are put at the end and taken from the beginning.
class ByteQueue {
 public:
  std::span<const std::byte> content() const {
    return {bytes_.data() + begin_, end_ - begin_};
  }
  bool empty() const { return begin_ == end_; }
  // Room for so many more; what of it was used is then added.
  std::span<std::byte> room(std::size_t bytes);
  void add(std::size_t bytes) { end_ += bytes; }
  void put(std::span<const std::byte> bytes);
  void drop(std::size_t bytes) {
    begin_ += bytes;
    if (begin_ == end_) begin_ = end_ = 0;
  }

 private:
  std::vector<std::byte> bytes_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
};

enum class TlsSide : std::uint8_t { client, server };

class Tls {
 public:
  // Who shakes hands has to have the same key and the same identity, which is sent in the clear and
  // stands for what both sides have said before. std::runtime_error for want of memory.
  Tls(TlsSide side, const Key& key, std::span<const std::byte> identity);
  ~Tls();
  Tls(const Tls&) = delete;
  Tls& operator=(const Tls&) = delete;

  ByteQueue in;
  ByteQueue out;

  // Goes on with what is in `in`; true once both sides have shown that they have the key. `out` is to
  // be sent either way, and when this throws: it tells the other end.
  bool shake_hands();

  // All of these after that. What `in` has brought, 0 for nothing whole.
  std::size_t read(std::span<std::byte> into);
  // Appends to `out`.
  void write(std::span<const std::byte> data);
  // Bytes of data that are sealed together.
  static constexpr std::size_t record_bytes = 16384;

  // Keys are replaced after so many records, long before AES-GCM's bound of 2^24.5 (RFC 8446, 5.5).
  void replace_keys_after(std::uint64_t records) { most_records_ = records; }

 private:
  struct State;
  void replace_keys();

  std::unique_ptr<State> state_;
  std::uint64_t records_ = 0;
  std::uint64_t most_records_ = std::uint64_t{1} << 23;
};

}  // namespace gpucast::remote
