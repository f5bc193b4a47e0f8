#include "client/handshake.h"

#include <array>
#include <map>

#include "protocol/frame.h"
#include "security/hmac.h"
#include "security/secret.h"

namespace gpucast::remote::client {
namespace {

template <class Message>
Message hear(Connection& connection, const Deadline& deadline) {
  std::array<std::byte, Message::size> bytes{};
  read_all(connection, bytes, deadline);
  return decode<Message>(bytes);
}

std::string refusal(Entry entry) {
  const std::map<Entry, std::string> reasons = {
      {Entry::wrong_secret, "the secret is not the server's"},
      {Entry::too_many_clients, "the server has too many clients"},
      {Entry::unknown_session, "the server has ended this session"},
      {Entry::failed, "the server could not begin a session"}};
  const auto found = reasons.find(entry);
  return found == reasons.end() ? "the server refused" : found->second;
}

}  // namespace

SessionId shake_hands(Connection& connection, const Hello& hello, const std::string& secret,
                      const Deadline& deadline) {
  write_all(connection, packed(hello), {}, deadline);
  const auto challenge = hear<Challenge>(connection, deadline);
  if (challenge.magic != handshake_magic) throw ConnectionLost("what answers is no GPU server");
  if (challenge.version != protocol_version) {
    throw ConnectionLost("the server speaks version " + std::to_string(challenge.version) +
                         " of the protocol, this client " + std::to_string(protocol_version));
  }
  if (challenge.needs_secret != 0 && secret.empty()) {
    throw ConnectionLost("the server asks for a secret (GPUCAST_REMOTE_SECRET_FILE)");
  }
  const std::string& used = challenge.needs_secret != 0 ? secret : std::string();
  if (challenge.needs_secret == 0 && !secret.empty()) {
    throw ConnectionLost("the server knows no secret, but one is given for it");
  }
  Answer answer;
  fill_random(answer.nonce);
  answer.mac = prove(used, Side::client, hello, challenge.nonce, answer.nonce);
  write_all(connection, packed(answer), {}, deadline);
  const auto welcome = hear<Welcome>(connection, deadline);
  if (welcome.entry != Entry::welcome) throw ConnectionLost(refusal(welcome.entry));
  if (!same(welcome.mac, prove(used, Side::server, hello, challenge.nonce, answer.nonce))) {
    throw ConnectionLost("the server does not know the secret");
  }
  return welcome.session;
}

}  // namespace gpucast::remote::client
