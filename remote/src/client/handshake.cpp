#include "client/handshake.h"

#include <map>

#include "client/status.h"
#include "protocol/inbox.h"
#include "transport/carriers.h"
#include "transport/sockets.h"
#include "transport/tls_connection.h"

namespace gpucast::remote::client {
namespace {

void require_entry(Entry entry) {
  const std::map<Entry, std::string> reasons = {
      {Entry::wrong_secret, "the secret is not the server's"},
      {Entry::too_many_clients, "the server has too many clients"},
      {Entry::unknown_session, "the server has ended this session"},
      {Entry::failed, "the server could not begin a session"}};
  if (entry == Entry::welcome) return;
  const std::string* const reason = value_at(reasons, entry);
  throw ConnectionLost(reason == nullptr ? "the server refused" : *reason);
}

const SecretKeys& secret_of(const Credentials& credentials) {
  if (credentials.secret) return *credentials.secret;
  throw ConnectionLost(
      "the server needs a secret: GPUCAST_REMOTE_SECRET_FILE (--secret-file) is not set, and no "
      "server of this user on this machine has made one");
}

Challenge hear_challenge(Connection& connection, const Hello& hello, const Deadline& deadline) {
  const Security security = hello.security;
  const auto challenge = read_message<Challenge>(connection, deadline);
  if (challenge.magic != handshake_magic) throw ConnectionLost("the other end is no GPU server");
  if (challenge.version != protocol_version) {
    throw ConnectionLost("the server speaks version " + std::to_string(challenge.version) +
                         " of the protocol, this client " + std::to_string(protocol_version) +
                         ": use one version of gpucast on both sides");
  }
  if (challenge.security != security) {
    throw ConnectionLost(
        security == Security::tls
            ? "the server runs without TLS (--plain): start it without that option or, on networks "
              "that "
              "you trust, run clients with it, too (--plain, GPUCAST_REMOTE_PLAIN=1)"
            : "the server speaks TLS only: leave out --plain "
              "(GPUCAST_REMOTE_PLAIN=1)");
  }
  if (challenge.carrier != Carrier::socket && challenge.carrier != hello.carrier)
    throw ConnectionLost("the server chose a transport that was not requested");
  require_entry(challenge.entry);
  return challenge;
}

// Enters through the listener, which knows the secret and nothing else of the session.
void enter_by_tls(Connection& connection, const SecretKeys& secret, const Hello& hello,
                  const Challenge& challenge, Session& session, const Deadline& deadline) {
  Tls tls(TlsSide::client, secret.tls, identity_of(hello, challenge, Stage::door));
  try {
    shake_hands(connection, tls, deadline);
  } catch (const TlsError& error) {
    throw TlsError(error.what() + std::string("; the secret was read from ") + secret.file);
  }
  std::array<std::byte, Admission::size> bytes{};
  read_all(connection, tls, bytes, deadline);
  const auto admission = decode<Admission>(bytes);
  require_entry(admission.entry);
  session.id = admission.session;
  session.key = Key(admission.key);
}

void enter_plainly(Connection& connection, const SecretKeys& secret, const Hello& hello,
                   const Challenge& challenge, Session& session, const Deadline& deadline) {
  Answer answer;
  fill_random(answer.nonce);
  answer.mac = prove(secret.plain, Side::client, hello, challenge.nonce, answer.nonce);
  write_all(connection, packed(answer), {}, deadline);
  const auto welcome = read_message<Welcome>(connection, deadline);
  if (welcome.entry == Entry::wrong_secret)
    throw ConnectionLost("the secret is not the server's; it was read from " + secret.file);
  require_entry(welcome.entry);
  if (!same(welcome.mac, prove(secret.plain, Side::server, hello, challenge.nonce, answer.nonce)))
    throw ConnectionLost("the server does not know the secret that was read from " + secret.file);
  session.id = welcome.session;
}

std::unique_ptr<Connection> enter(std::unique_ptr<Connection> connection, const Hello& hello,
                                  const Challenge& challenge, Session& session,
                                  const Credentials& credentials, const Deadline& deadline) {
  const SecretKeys& secret = secret_of(credentials);
  if (credentials.security == Security::plain) {
    enter_plainly(*connection, secret, hello, challenge, session, deadline);
    return connection;
  }
  if (hello.purpose == Purpose::control)
    enter_by_tls(*connection, secret, hello, challenge, session, deadline);
  return secure(std::move(connection), TlsSide::client, session.key,
                identity_of(hello, challenge, Stage::session), deadline);
}

// Returns what could carry the connection instead of the socket, or nullptr if that is not wanted
// or not allowed.
const CarrierKind* carrier_for(int socket, Purpose purpose, const Credentials& credentials) {
  if (purpose != Purpose::control) return nullptr;
  const bool secure = credentials.security == Security::tls;
  const auto kind = std::ranges::find_if(carriers(), [&](const CarrierKind& carrier) {
    return credentials.carrier.value_or(carrier.number) == carrier.number &&
           carrier.may_carry(socket, secure);
  });
  return kind == carriers().end() ? nullptr : &*kind;
}

}  // namespace

std::unique_ptr<Connection> shake_hands(std::unique_ptr<Connection> connection, Greeting greeting,
                                        Session& session, const Credentials& credentials,
                                        const Deadline& deadline) {
  support::Descriptor socket = socket_of(*connection);
  const CarrierKind* const kind = carrier_for(socket.get(), greeting.purpose, credentials);
  const Hello hello{.purpose = greeting.purpose,
                    .number = greeting.number,
                    .security = credentials.security,
                    .carrier = kind == nullptr ? Carrier::socket : kind->number,
                    .session = session.id};
  write_all(*connection, packed(hello), {}, deadline);
  const Challenge challenge = hear_challenge(*connection, hello, deadline);
  auto entered = enter(std::move(connection), hello, challenge, session, credentials, deadline);
  if (kind != nullptr && challenge.carrier == kind->number) {
    const std::byte greeted{1};
    write_all(*entered, {&greeted, 1}, {}, deadline);
    if (auto other = kind->accept(std::move(socket), deadline)) {
      session.carrier = kind->number;
      return other;
    }
  }
  if (greeting.purpose == Purpose::control && credentials.carrier) {
    if (const auto* const named = find_carrier(*credentials.carrier))
      throw ConnectionLost(named->needs);
  }
  return entered;
}

}  // namespace gpucast::remote::client
