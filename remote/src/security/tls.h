// TLS 1.3 with a key that both sides know beforehand (RFC 8446, external PSK with (EC)DHE), by
// OpenSSL: who does not have the key neither reads nor changes what is said, nor does who learns it
// later (the exchange on X25519). One suite, TLS_AES_128_GCM_SHA256: what processors with AES
// instructions do fastest. No certificates, no tickets, no early data.
//
// It only transforms bytes: `in` is filled with what the network brought, and `out` is what has to
// go there. Any ordered connection carries it, one without a file descriptor too, which OpenSSL's
// own socket BIO and the kernel's TLS need. libssl shakes hands, and the records are
// tls_records.h's.
//
// libssl is linked statically for the same reason as libcrypto (hmac.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "security/byte_queue.h"
#include "security/key.h"
#include "security/tls_records.h"

namespace gpucast::remote {

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

  ByteQueue in;
  ByteQueue out;

  // Goes on with what is in `in`; true once both sides have shown that they have the key. `out` is
  // to be sent either way, and when this throws TlsError: it tells the other end.
  bool shake_hands();

  // After that; one thread reads, and one writes. What `in` has brought, 0 for nothing whole;
  // TlsError.
  std::size_t read(std::span<std::byte> into) { return reader_->read(into, in); }
  // Appends to `out`.
  void write(std::span<const std::byte> first, std::span<const std::byte> second = {}) {
    writer_->write(first, second, out);
  }
  void replace_key_after(std::uint64_t records) { writer_->replace_key_after(records); }

 private:
  struct State;  // of libssl, until hands are shaken

  std::unique_ptr<State> state_;
  std::unique_ptr<RecordReader> reader_;
  std::unique_ptr<RecordWriter> writer_;
};

}  // namespace gpucast::remote
