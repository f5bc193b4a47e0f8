#include "security/tls.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/obj_mac.h>
#include <openssl/ssl.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace gpucast::remote {

template <auto function>
struct Deleter {
  template <class T>
  void operator()(T* object) const {
    function(object);
  }
};

struct TlsState {
  std::unique_ptr<SSL, Deleter<SSL_free>> ssl;
  std::unique_ptr<BIO, Deleter<BIO_free>> network;
  Key key;  // until the handshake is done
  std::vector<unsigned char> identity;
};

namespace {

using Context = std::unique_ptr<SSL_CTX, Deleter<SSL_CTX_free>>;
using Session = std::unique_ptr<SSL_SESSION, Deleter<SSL_SESSION_free>>;

constexpr const char* suite_name = "TLS_AES_128_GCM_SHA256";
constexpr std::array<unsigned char, 2> suite_number = {0x13, 0x01};
constexpr std::uint32_t suite_id = 0x03001301;  // OpenSSL's number

void require_setup(bool success) {
  if (success) return;
  ERR_clear_error();
  throw std::runtime_error("libssl sets up no TLS 1.3");
}

// Makes OpenSSL's session for a pre-shared key. OpenSSL wipes the key when it frees the session.
Session session_of(SSL* ssl, const Key& key) {
  Session session(SSL_SESSION_new());
  const SSL_CIPHER* suite = SSL_CIPHER_find(ssl, suite_number.data());
  const bool made =
      session && suite != nullptr &&
      SSL_SESSION_set1_master_key(session.get(), key.bytes().data(), Key::size) == 1 &&
      SSL_SESSION_set_cipher(session.get(), suite) == 1 &&
      SSL_SESSION_set_protocol_version(session.get(), TLS1_3_VERSION) == 1;
  return made ? std::move(session) : nullptr;
}

int offer_key(SSL* ssl, const EVP_MD* /*hash*/, const unsigned char** identity, std::size_t* size,
              SSL_SESSION** session) {
  const auto& state = *static_cast<const TlsState*>(SSL_get_app_data(ssl));
  *session = session_of(ssl, state.key).release();
  *identity = state.identity.data();
  *size = state.identity.size();
  return *session == nullptr ? 0 : 1;
}

// Without a session the handshake fails, since there is no certificate.
int find_key(SSL* ssl, const unsigned char* identity, std::size_t size, SSL_SESSION** session) {
  const auto& state = *static_cast<const TlsState*>(SSL_get_app_data(ssl));
  *session = nullptr;
  if (!std::ranges::equal(std::span(identity, size), state.identity)) return 1;
  *session = session_of(ssl, state.key).release();
  return *session == nullptr ? 0 : 1;
}

// The context is never freed: threads of a program that ends may still connect.
SSL_CTX* make_context() {
  // Neither a handler at exit nor the system's configuration, as in key.cpp.
  OPENSSL_init_ssl(OPENSSL_INIT_NO_ATEXIT | OPENSSL_INIT_NO_LOAD_CONFIG, nullptr);
  Context context(SSL_CTX_new(TLS_method()));
  SSL_CTX* const raw = context.get();
  require_setup(context && SSL_CTX_set_min_proto_version(raw, TLS1_3_VERSION) == 1 &&
                SSL_CTX_set_max_proto_version(raw, TLS1_3_VERSION) == 1 &&
                SSL_CTX_set_ciphersuites(raw, suite_name) == 1 &&
                SSL_CTX_set1_groups_list(raw, "X25519") == 1 &&
                SSL_CTX_set_num_tickets(raw, 0) == 1 && SSL_CTX_set_max_early_data(raw, 0) == 1);
  SSL_CTX_set_options(raw, SSL_OP_NO_TICKET | SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION);
  SSL_CTX_clear_options(raw, SSL_OP_ALLOW_NO_DHE_KEX);
  SSL_CTX_set_session_cache_mode(raw, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_psk_use_session_callback(raw, offer_key);
  SSL_CTX_set_psk_find_session_callback(raw, find_key);
  return context.release();
}

// Returns the first error of this thread's queue in words, and empties the queue.
std::string reason_of(unsigned long code) {
  const char* text = ERR_reason_error_string(code);
  return text == nullptr ? "no reason given" : text;
}

constexpr int alert_reasons = 1000;  // OpenSSL's reasons from here on are received alerts

[[noreturn]] void throw_error() {
  const unsigned long code = ERR_peek_error();
  ERR_clear_error();
  const int reason = ERR_GET_REASON(code);
  const bool told = ERR_GET_LIB(code) == ERR_LIB_SSL && reason > alert_reasons;
  const bool other_key =
      told || reason == SSL_R_BINDER_DOES_NOT_VERIFY || reason == SSL_R_NO_SHARED_CIPHER;
  throw TlsError((other_key ? "the secret is not the same, or the data was changed in transit"
                            : "the data was changed in transit") +
                 (" (TLS: " + reason_of(code) + ")"));
}

}  // namespace

Tls::Tls(TlsSide side, const Key& key, std::span<const std::byte> identity)
    : state_(std::make_unique<TlsState>()) {
  static SSL_CTX* const context = make_context();
  state_->key = key;
  state_->identity.resize(identity.size());
  std::memcpy(state_->identity.data(), identity.data(), identity.size());
  state_->ssl.reset(SSL_new(context));
  // Data grows by 22 bytes per record when it is written; alerts and key updates may follow.
  constexpr std::size_t buffer_bytes = most_unsent + 4096;
  BIO* inner = nullptr;
  BIO* network = nullptr;
  require_setup(state_->ssl && BIO_new_bio_pair(&inner, buffer_bytes, &network, buffer_bytes) == 1);
  state_->network.reset(network);
  SSL* const ssl = state_->ssl.get();
  SSL_set_bio(ssl, inner, inner);  // the BIO now belongs to it
  SSL_set_app_data(ssl, state_.get());
  if (side == TlsSide::client) {
    SSL_set_connect_state(ssl);
    // No certificate is accepted: a peer that shows one is refused.
    SSL_set_verify(ssl, SSL_VERIFY_PEER, nullptr);
  } else {
    SSL_set_accept_state(ssl);
  }
}

Tls::~Tls() = default;

// ---- towards the network ----

std::span<std::byte> Tls::room() {
  const std::lock_guard lock(mutex_);
  char* begin = nullptr;
  const int size = BIO_nwrite0(state_->network.get(), &begin);
  return std::as_writable_bytes(std::span(begin, static_cast<std::size_t>(std::max(size, 0))));
}

void Tls::came(std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  char* begin = nullptr;
  BIO_nwrite(state_->network.get(), &begin, static_cast<int>(bytes));
}

std::span<const std::byte> Tls::unsent() {
  const std::lock_guard lock(mutex_);
  char* begin = nullptr;
  const int size = BIO_nread0(state_->network.get(), &begin);
  return std::as_bytes(std::span(begin, static_cast<std::size_t>(std::max(size, 0))));
}

void Tls::sent(std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  char* begin = nullptr;
  BIO_nread(state_->network.get(), &begin, static_cast<int>(bytes));
}

// ---- towards the program ----

bool Tls::shake_hands() {
  SSL* const ssl = state_->ssl.get();
  ERR_clear_error();
  if (const int done = SSL_do_handshake(ssl); done != 1) {
    if (SSL_get_error(ssl, done) == SSL_ERROR_WANT_READ) return false;
    throw_error();
  }
  // The handshake must have used this key, with a key exchange, and nothing else that OpenSSL
  // supports.
  if (SSL_session_reused(ssl) != 1 || SSL_version(ssl) != TLS1_3_VERSION ||
      SSL_CIPHER_get_id(SSL_get_current_cipher(ssl)) != suite_id ||
      SSL_get_negotiated_group(ssl) != NID_X25519 || SSL_get0_peer_certificate(ssl) != nullptr) {
    throw TlsError("the other end did not use the secret");
  }
  state_->key.wipe();
  return true;
}

std::size_t Tls::readable() {
  const std::lock_guard lock(mutex_);
  SSL* const ssl = state_->ssl.get();
  // libssl may hold the beginning of a record.
  return static_cast<std::size_t>(SSL_pending(ssl)) + BIO_ctrl_pending(SSL_get_rbio(ssl)) +
         tls_record_bytes;
}

std::size_t Tls::read(std::span<std::byte> into) {
  SSL* const ssl = state_->ssl.get();
  std::size_t total = 0;
  while (total < into.size()) {
    const std::lock_guard lock(mutex_);
    if (SSL_pending(ssl) == 0 && BIO_ctrl_pending(SSL_get_rbio(ssl)) == 0) break;
    std::size_t got = 0;
    const int done = SSL_read_ex(ssl, &into[total], into.size() - total, &got);
    total += got;
    if (done == 1) continue;
    const int why = SSL_get_error(ssl, done);
    if (why == SSL_ERROR_WANT_READ) break;
    if (why == SSL_ERROR_ZERO_RETURN)
      throw TlsError("the other end closed the connection (TLS: an alert)");
    throw_error();
  }
  return total;
}

void Tls::write(std::span<const std::byte> first, std::span<const std::byte> second) {
  const auto write_records = [this](std::span<const std::byte> data) {
    for (; !data.empty(); data = data.subspan(std::min(data.size(), tls_record_bytes)))
      write_record(data.first(std::min(data.size(), tls_record_bytes)));
  };
  // A message's head is joined with what follows: a record takes longer than copying its data.
  const std::size_t alone = first.size() - first.size() % tls_record_bytes;
  write_records(first.first(alone));
  first = first.subspan(alone);
  const std::size_t joining = std::min(second.size(), tls_record_bytes - first.size());
  if (first.empty() || joining == 0) {
    write_records(first);
    return write_records(second);
  }
  joined_.assign(first.begin(), first.end());
  joined_.insert(joined_.end(), second.begin(),
                 second.begin() + static_cast<std::ptrdiff_t>(joining));
  write_record(joined_);
  write_records(second.subspan(joining));
}

void Tls::write_record(std::span<const std::byte> data) {
  SSL* const ssl = state_->ssl.get();
  const std::lock_guard lock(mutex_);
  if (++records_ > most_records_) {
    if (SSL_key_update(ssl, SSL_KEY_UPDATE_NOT_REQUESTED) != 1) throw_error();
    records_ = 1;
  }
  std::size_t written = 0;
  if (SSL_write_ex(ssl, data.data(), data.size(), &written) != 1) throw_error();
}

}  // namespace gpucast::remote
