// TLS 1.3 with a pre-shared key (RFC 8446, external PSK with (EC)DHE), by OpenSSL: without the key
// nobody can read or change the data, and later knowledge of it does not help (X25519 key
// exchange). One suite, TLS_AES_128_GCM_SHA256, which is the fastest on processors with AES
// instructions. No certificates, no tickets, no early data.
//
// This class only transforms bytes: room() is filled with received data, and unsent() has to be
// sent. Any ordered connection can carry it, even one without a file descriptor, which OpenSSL's
// own socket BIO and the kernel's TLS need.
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

struct TlsState;  // of libssl

// The received data was changed, or the other end does not have the key. The connection is over.
class TlsError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Maximum of bytes of data in a record.
inline constexpr std::size_t tls_record_bytes = 16384;
// Maximum of bytes of data that may be written before the encrypted result is sent.
inline constexpr std::size_t most_unsent = std::size_t{256} << 10;

enum class TlsSide : std::uint8_t { client, server };

class Tls {
 public:
  // The other end needs the same key and the same identity, of at least one byte, which is sent
  // without encryption and stands for the messages before. Throws std::runtime_error if memory is
  // exhausted.
  Tls(TlsSide side, const Key& key, std::span<const std::byte> identity);
  ~Tls();

  // Returns the buffer for received data; came() then tells how many bytes were received. It is
  // never empty if everything readable was read.
  std::span<std::byte> room();
  void came(std::size_t bytes);
  // Returns what has to be sent next; sent() then tells how much was sent. Everything is sent once
  // this is empty.
  std::span<const std::byte> unsent();
  void sent(std::size_t bytes);

  // Continues with the received data; returns true once both sides have proved that they have the
  // key. unsent() has to be sent in any case, also after a TlsError: it informs the other end.
  bool shake_hands();

  // After the handshake one thread reads and fills the room, and one writes and sends; libssl
  // serves them alternately, record by record.
  // Returns the upper bound of the data that can be read.
  std::size_t readable();
  // Reads decrypted data; returns 0 while no record is complete. Throws TlsError.
  std::size_t read(std::span<std::byte> into);
  // Both parts together have at most `most_unsent` bytes, and unsent() must be empty. Throws
  // TlsError.
  void write(std::span<const std::byte> first, std::span<const std::byte> second = {});
  // Changes the key after this number of records, long before AES-GCM's limit of 2^24.5 (RFC 8446,
  // 5.5), which libssl leaves to its user.
  void replace_key_after(std::uint64_t records) { most_records_ = records; }

 private:
  void write_record(std::span<const std::byte> data);

  std::mutex mutex_;  // for libssl, which reads and writes both buffers
  std::unique_ptr<TlsState> state_;
  std::vector<std::byte> joined_;  // the data of one record, joined from both parts
  std::uint64_t records_ = 0;
  std::uint64_t most_records_ = std::uint64_t{1} << 23;
};

}  // namespace gpucast::remote
