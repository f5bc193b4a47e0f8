#include "security/tls.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/obj_mac.h>
#include <openssl/ssl.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpucast::remote {
namespace {

template <auto function>
struct Deleter {
  template <class T>
  void operator()(T* object) const {
    function(object);
  }
};
using Context = std::unique_ptr<SSL_CTX, Deleter<SSL_CTX_free>>;
using Session = std::unique_ptr<SSL_SESSION, Deleter<SSL_SESSION_free>>;
using Method = std::unique_ptr<BIO_METHOD, Deleter<BIO_meth_free>>;

constexpr const char* suite_name = "TLS_AES_128_GCM_SHA256";
constexpr std::array<unsigned char, 2> suite_number = {0x13, 0x01};
constexpr std::uint32_t suite_id = 0x03001301;  // as OpenSSL numbers it

void require_setup(bool success) {
  if (success) return;
  ERR_clear_error();
  throw std::runtime_error("libssl sets up no TLS 1.3");
}

Tls& owner_of(BIO* bio) { return *static_cast<Tls*>(BIO_get_data(bio)); }

int bio_read(BIO* bio, char* into, std::size_t size, std::size_t* got) {
  BIO_clear_retry_flags(bio);
  ByteQueue& in = owner_of(bio).in;
  *got = std::min(size, in.content().size());
  if (*got == 0) {
    BIO_set_retry_read(bio);
    return 0;
  }
  std::memcpy(into, in.content().data(), *got);
  in.drop(*got);
  return 1;
}

int bio_write(BIO* bio, const char* data, std::size_t size, std::size_t* sent) {
  BIO_clear_retry_flags(bio);
  try {
    owner_of(bio).out.put(std::as_bytes(std::span(data, size)));
  } catch (const std::bad_alloc&) {
    return 0;
  }
  *sent = size;
  return 1;
}

long bio_control(BIO* /*bio*/, int command, long /*number*/, void* /*pointer*/) {
  return command == BIO_CTRL_FLUSH ? 1 : 0;
}

BIO_METHOD* make_method() {
  Method method(BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "gpucast"));
  require_setup(method && BIO_meth_set_read_ex(method.get(), bio_read) == 1 &&
                BIO_meth_set_write_ex(method.get(), bio_write) == 1 &&
                BIO_meth_set_ctrl(method.get(), bio_control) == 1);
  return method.release();
}

}  // namespace

struct Tls::State {
  TlsSide side = TlsSide::client;
  struct Free {
    void operator()(SSL* its) const { SSL_free(its); }
  };
  std::unique_ptr<SSL, Free> ssl;
  Key key;
  std::vector<unsigned char> identity;
  // What the traffic's keys follow from, once libssl has told them.
  std::optional<Key> of_client;
  std::optional<Key> of_server;
};

namespace {

template <class State>
State& state_of(SSL* ssl) {
  return *static_cast<State*>(SSL_get_app_data(ssl));
}

// What OpenSSL calls the session of a pre-shared key. It wipes the key when it frees it.
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

template <class State>
int offer_key(SSL* ssl, const EVP_MD* /*hash*/, const unsigned char** identity, std::size_t* size,
              SSL_SESSION** session) {
  const State& state = state_of<State>(ssl);
  *session = session_of(ssl, state.key).release();
  *identity = state.identity.data();
  *size = state.identity.size();
  return *session == nullptr ? 0 : 1;
}

// Without a session, and as there is no certificate, the handshake fails.
template <class State>
int find_key(SSL* ssl, const unsigned char* identity, std::size_t size, SSL_SESSION** session) {
  const State& state = state_of<State>(ssl);
  *session = nullptr;
  if (!std::ranges::equal(std::span(identity, size), state.identity)) return 1;
  *session = session_of(ssl, state.key).release();
  return *session == nullptr ? 0 : 1;
}

// A key of a line "NAME NUMBER KEY" in hexadecimal digits; nothing for another name.
std::optional<Key> key_of(std::string_view line, std::string_view name) {
  constexpr int base = 16;
  if (!line.starts_with(name) || line.size() < 2 * Key::size) return std::nullopt;
  const std::string_view digits = line.substr(line.size() - 2 * Key::size);
  Key result;
  for (std::size_t k = 0; k < Key::size; ++k) {
    const char* const at = digits.data() + 2 * k;
    if (std::from_chars(at, at + 2, result.bytes()[k], base).ptr != at + 2) return std::nullopt;
  }
  return result;
}

// libssl wipes the line behind this.
template <class State>
void note_secret(const SSL* ssl, const char* line) {
  auto& state = *static_cast<State*>(SSL_get_app_data(ssl));
  if (auto key = key_of(line, "CLIENT_TRAFFIC_SECRET_0 ")) state.of_client = *key;
  if (auto key = key_of(line, "SERVER_TRAFFIC_SECRET_0 ")) state.of_server = *key;
}

// For ever: threads of a program that ends may still connect.
template <class State>
SSL_CTX* make_context() {
  // Without a handler at exit, and without the system's configuration, as in hmac.cpp.
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
  SSL_CTX_set_psk_use_session_callback(raw, offer_key<State>);
  SSL_CTX_set_psk_find_session_callback(raw, find_key<State>);
  SSL_CTX_set_keylog_callback(raw, note_secret<State>);
  return context.release();
}

// The first error of this thread's queue, in words; the queue is empty then.
std::string reason_of(unsigned long code) {
  const char* text = ERR_reason_error_string(code);
  return text == nullptr ? "no reason given" : text;
}

constexpr int alert_reasons = 1000;  // OpenSSL's reasons from here on are alerts that were received

[[noreturn]] void throw_error() {
  const unsigned long code = ERR_peek_error();
  ERR_clear_error();
  const int reason = ERR_GET_REASON(code);
  const bool told = ERR_GET_LIB(code) == ERR_LIB_SSL && reason > alert_reasons;
  const bool other_key =
      told || reason == SSL_R_BINDER_DOES_NOT_VERIFY || reason == SSL_R_NO_SHARED_CIPHER;
  throw TlsError((other_key ? "the secret is not the same, or what was said was changed on its way"
                            : "what came was changed on its way") +
                 (" (TLS: " + reason_of(code) + ")"));
}

}  // namespace

Tls::Tls(TlsSide side, const Key& key, std::span<const std::byte> identity)
    : state_(std::make_unique<State>()) {
  static SSL_CTX* const context = make_context<State>();
  static BIO_METHOD* const method = make_method();
  state_->side = side;
  state_->key = key;
  state_->identity.resize(identity.size());
  std::memcpy(state_->identity.data(), identity.data(), identity.size());
  state_->ssl.reset(SSL_new(context));
  BIO* const bio = BIO_new(method);
  require_setup(state_->ssl && bio != nullptr);
  BIO_set_data(bio, this);
  BIO_set_init(bio, 1);
  SSL* const ssl = state_->ssl.get();
  SSL_set_bio(ssl, bio, bio);  // which owns it now
  SSL_set_app_data(ssl, state_.get());
  if (side == TlsSide::client) {
    SSL_set_connect_state(ssl);
    // Nobody is known by a certificate: who shows one is refused.
    SSL_set_verify(ssl, SSL_VERIFY_PEER, nullptr);
  } else {
    SSL_set_accept_state(ssl);
  }
}

Tls::~Tls() = default;

bool Tls::shake_hands() {
  SSL* const ssl = state_->ssl.get();
  ERR_clear_error();
  if (const int done = SSL_do_handshake(ssl); done != 1) {
    if (SSL_get_error(ssl, done) == SSL_ERROR_WANT_READ) return false;
    throw_error();
  }
  // That it was this key, with an exchange, and not something that OpenSSL would also do.
  if (SSL_session_reused(ssl) != 1 || SSL_version(ssl) != TLS1_3_VERSION ||
      SSL_CIPHER_get_id(SSL_get_current_cipher(ssl)) != suite_id ||
      SSL_get_negotiated_group(ssl) != NID_X25519 || SSL_get0_peer_certificate(ssl) != nullptr ||
      !state_->of_client || !state_->of_server) {
    throw TlsError("the other end did not use the secret");
  }
  const bool client = state_->side == TlsSide::client;
  reader_ = std::make_unique<RecordReader>(client ? *state_->of_server : *state_->of_client);
  writer_ = std::make_unique<RecordWriter>(client ? *state_->of_client : *state_->of_server);
  state_.reset();  // libssl wipes what it knows
  return true;
}

}  // namespace gpucast::remote
