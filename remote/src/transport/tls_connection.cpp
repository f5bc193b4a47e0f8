#include "transport/tls_connection.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "transport/program_memory.h"

namespace gpucast::remote {
namespace {

// Encrypting, and reading from the network, in large units saves system calls. Unless the data is
// short, only half of it is taken at a time: one end then encrypts the rest while the other
// decrypts.
constexpr std::size_t sealed_at_once = most_unsent;
constexpr std::size_t least_at_once = std::size_t{64} << 10;

class TlsConnection : public Connection {
 public:
  TlsConnection(std::unique_ptr<Connection> connection, std::unique_ptr<Tls> tls)
      : connection_(std::move(connection)), tls_(std::move(tls)) {}

  std::size_t try_read(std::span<std::byte> into, MemoryOf whose) override {
    if (into.empty()) return 0;
    if (unread_) {
      if (const std::size_t got = open(into, whose); got > 0) return got;
    }
    const std::size_t got = connection_->try_read(tls_->room(), MemoryOf::library);
    if (got == 0) return 0;
    tls_->came(got);
    unread_ = true;
    return open(into, whose);
  }

  // Sends everything that was encrypted, or nothing: a rest would wait for the next write.
  std::size_t try_write(std::span<const std::byte> first, std::span<const std::byte> second,
                        MemoryOf whose_second) override {
    if (sealed_ == 0) seal(first, second, whose_second);
    for (auto rest = tls_->unsent(); !rest.empty(); rest = tls_->unsent()) {
      const std::size_t sent = connection_->try_write(rest, {}, MemoryOf::library);
      if (sent == 0) return 0;
      tls_->sent(sent);
    }
    return std::exchange(sealed_, 0);
  }

  Ready wait(Ready wanted, const Deadline& deadline) override {
    if (wanted.read && unread_) return {.read = true};
    return connection_->wait(wanted, deadline);
  }

  void shut_down() noexcept override { connection_->shut_down(); }

 private:
  // Decrypts the complete records.
  std::size_t open(std::span<std::byte> into, MemoryOf whose) {
    into = into.first(std::min(into.size(), tls_->readable()));
    if (whose == MemoryOf::program && !program_.may_write(into))
      throw BadMemory("memory that is not the program's");
    const std::size_t got = tls_->read(into);
    unread_ = got == into.size();
    return got;
  }

  void seal(std::span<const std::byte> first, std::span<const std::byte> second, MemoryOf whose) {
    const std::size_t half = (first.size() + second.size()) / 2;
    const std::size_t most = std::clamp(half, least_at_once, sealed_at_once);
    first = first.first(std::min(first.size(), most));
    second = second.first(std::min(second.size(), most - first.size()));
    if (whose == MemoryOf::program && !program_.may_read(second))
      throw BadMemory("memory that is not the program's");
    tls_->write(first, second);
    sealed_ = first.size() + second.size();
  }

  std::unique_ptr<Connection> connection_;
  std::unique_ptr<Tls> tls_;
  ProgramMemory program_;
  // Used by the reader: whether there may be something to decrypt.
  bool unread_ = true;
  // Used by the writer: bytes that are encrypted, not sent, and therefore not accepted.
  std::size_t sealed_ = 0;
};

void send_out(Connection& connection, Tls& tls, const Deadline& deadline) {
  for (auto rest = tls.unsent(); !rest.empty(); rest = tls.unsent()) {
    write_all(connection, rest, {}, deadline);
    tls.sent(rest.size());
  }
}

// Informs the other end about the reason for a refusal if it accepts data at once.
void send_what_is_taken(Connection& connection, Tls& tls) noexcept {
  try {
    connection.try_write(tls.unsent(), {}, MemoryOf::library);
  } catch (const std::exception&) {
    return;  // the connection is closed
  }
}

void read_in(Connection& connection, Tls& tls, const Deadline& deadline) {
  tls.came(read_some(connection, tls.room(), deadline));
}

}  // namespace

void shake_hands(Connection& connection, Tls& tls, const Deadline& deadline) {
  try {
    while (!tls.shake_hands()) {
      send_out(connection, tls, deadline);
      read_in(connection, tls, deadline);
    }
  } catch (const TlsError&) {
    send_what_is_taken(connection, tls);
    throw;
  }
  send_out(connection, tls, deadline);
}

void read_all(Connection& connection, Tls& tls, std::span<std::byte> into,
              const Deadline& deadline) {
  while (!into.empty()) {
    const std::size_t got = tls.read(into);
    into = into.subspan(got);
    if (got == 0) read_in(connection, tls, deadline);
  }
}

std::unique_ptr<Connection> secure(std::unique_ptr<Connection> connection, TlsSide side,
                                   const Key& key, std::span<const std::byte> identity,
                                   const Deadline& deadline) {
  auto tls = std::make_unique<Tls>(side, key, identity);
  shake_hands(*connection, *tls, deadline);
  return std::make_unique<TlsConnection>(std::move(connection), std::move(tls));
}

}  // namespace gpucast::remote
