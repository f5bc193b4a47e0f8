// TLS with a pre-shared key: who is admitted, and the effect of changed bytes. The other end is
// ours, or libssl alone.
#include "security/tls.h"

#include <gtest/gtest.h>
#include <openssl/err.h>
#include <openssl/ssl.h>

#include <algorithm>
#include <functional>
#include <random>
#include <set>
#include <utility>

#include "tests/noise.h"

namespace gpucast::remote {
namespace {

using Octets = std::vector<std::byte>;

Key key_of(std::uint8_t value) {
  Key key;
  std::ranges::fill(key.bytes(), value);
  return key;
}

Octets bytes_of(const std::string& text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

// Takes the data that this end has to send.
Octets taken(Tls& end) {
  Octets result;
  for (auto part = end.unsent(); !part.empty(); part = end.unsent()) {
    result.insert(result.end(), part.begin(), part.end());
    end.sent(part.size());
  }
  return result;
}

// Delivers data to this end.
void put(Tls& end, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const auto room = end.room();
    const std::size_t size = std::min(room.size(), bytes.size());
    ASSERT_GT(size, 0U);
    std::ranges::copy(bytes.first(size), room.begin());
    end.came(size);
    bytes = bytes.subspan(size);
  }
}

// What an attacker does with data in transit; `from_client` tells its direction.
using Between = std::function<void(Octets& data, bool from_client)>;

// A client and a server, and the connection between them.
struct Both {
  explicit Both(const Key& of_server = key_of(7), const std::string& identity = "hello")
      : client(TlsSide::client, key_of(7), bytes_of("hello")),
        server(TlsSide::server, of_server, bytes_of(identity)) {}

  // Returns whether both are finished; rethrows their exceptions.
  bool shake_hands(const Between& between = {}) {
    constexpr int flights = 3;
    for (int k = 0; k < flights; ++k) {
      if (!client_done) client_done = client.shake_hands();
      pass(client, server, true, between);
      if (!server_done) server_done = server.shake_hands();
      pass(server, client, false, between);
    }
    return client_done && server_done;
  }
  static void pass(Tls& from, Tls& to, bool from_client, const Between& between) {
    Octets data = taken(from);
    if (between) between(data, from_client);
    put(to, data);
  }

  Tls client;
  Tls server;
  bool client_done = false;
  bool server_done = false;
};

Octets read_all(Tls& end, std::size_t most = 100'000) {
  Octets result(most);
  result.resize(end.read(result));
  return result;
}

TEST(Tls, CarriesBothDirectionsOnceBothHaveTheKey) {
  Both both;
  ASSERT_TRUE(both.shake_hands());
  both.client.write(bytes_of("to the "), bytes_of("server"));
  Both::pass(both.client, both.server, true, {});
  EXPECT_EQ(read_all(both.server), bytes_of("to the server"));
  both.server.write(bytes_of("and back"));
  Both::pass(both.server, both.client, false, {});
  EXPECT_EQ(read_all(both.client), bytes_of("and back"));
}

TEST(Tls, ShowsNobodyWhatIsSaid) {
  Both both;
  ASSERT_TRUE(both.shake_hands());
  const Octets sentence = bytes_of("a line that nobody else reads");
  for (int k = 0; k < 2; ++k)
    both.client.write(sentence);
  const Octets sent = taken(both.client);
  EXPECT_TRUE(std::ranges::search(sent, std::span(sentence).first(4)).empty());
  // The same text looks different the second time.
  const auto half = static_cast<std::ptrdiff_t>(sent.size() / 2);
  EXPECT_FALSE(std::equal(sent.begin() + 5, sent.begin() + half, sent.begin() + half + 5));
}

TEST(Tls, RefusesAnotherKeyAndAnotherIdentity) {
  Both other_key(key_of(8));
  EXPECT_THROW(other_key.shake_hands(), TlsError);
  Both other_words(key_of(7), "hullo");
  EXPECT_THROW(other_words.shake_hands(), TlsError);
}

TEST(Tls, TellsTheClientThatItsKeyIsRefused) {
  Both both(key_of(8));
  both.client.shake_hands();
  Both::pass(both.client, both.server, true, {});
  EXPECT_THROW(both.server.shake_hands(), TlsError);
  Both::pass(both.server, both.client, false, {});
  try {
    both.client.shake_hands();
    FAIL() << "the client goes on";
  } catch (const TlsError& error) {
    EXPECT_NE(std::string(error.what()).find("the secret is not the same"), std::string::npos);
  }
}

// This holds for every byte of every flight.
TEST(Tls, IsNotSetUpWhereAByteOfAHandshakeIsChanged) {
  std::size_t bytes[] = {0, 0};
  Both whole;
  ASSERT_TRUE(whole.shake_hands(
      [&](Octets& data, bool from_client) { bytes[from_client ? 1 : 0] += data.size(); }));
  std::set<std::pair<bool, std::size_t>> unnoticed;
  for (const bool of_client : {false, true}) {
    for (std::size_t place = 0; place < bytes[of_client ? 1 : 0]; ++place) {
      Both both;
      std::size_t begin = 0;
      const auto change = [&](Octets& data, bool from_client) {
        if (from_client != of_client) return;
        if (place >= begin && place < begin + data.size()) data[place - begin] ^= std::byte{4};
        begin += data.size();
      };
      bool done = false;
      try {
        done = both.shake_hands(change);
      } catch (const TlsError&) {
        done = false;
      }
      if (!done) continue;
      // The version in unencrypted records has no meaning (RFC 8446, 5.1): both ends are the same
      // without the change.
      both.client.write(bytes_of("whole"));
      Both::pass(both.client, both.server, true, {});
      EXPECT_EQ(read_all(both.server), bytes_of("whole"));
      unnoticed.insert({of_client, place});
    }
  }
  EXPECT_LE(unnoticed.size(), 8U);  // two such bytes in each of four records
}

TEST(Tls, IsNotSetUpByPartOfAHandshake) {
  Both whole;
  whole.client.shake_hands();
  const Octets hello = taken(whole.client);
  for (std::size_t size = 0; size < hello.size(); ++size) {
    Tls server(TlsSide::server, key_of(7), bytes_of("hello"));
    put(server, std::span(hello).first(size));
    EXPECT_FALSE(server.shake_hands()) << size;
    EXPECT_TRUE(server.unsent().empty()) << size;
  }
}

// Each handshake has its own key exchange, so that a client's earlier messages are useless to a
// server.
TEST(Tls, IsNotSetUpByWhatAnotherClientSaidBefore) {
  std::vector<Octets> of_client;
  Both first;
  ASSERT_TRUE(first.shake_hands([&](Octets& data, bool from_client) {
    if (from_client && !data.empty()) of_client.push_back(data);
  }));
  ASSERT_EQ(of_client.size(), 2U);
  Tls server(TlsSide::server, key_of(7), bytes_of("hello"));
  put(server, of_client[0]);
  EXPECT_FALSE(server.shake_hands());
  put(server, of_client[1]);
  EXPECT_THROW(server.shake_hands(), TlsError);
}

// ---- records ----

std::vector<Octets> records_of(const Octets& sent) {
  std::vector<Octets> result;
  for (std::size_t begin = 0; begin < sent.size();) {
    const auto size = 5 + (std::to_integer<std::size_t>(sent[begin + 3]) << 8 |
                           std::to_integer<std::size_t>(sent[begin + 4]));
    const auto from = sent.begin() + static_cast<std::ptrdiff_t>(begin);
    result.emplace_back(from, from + static_cast<std::ptrdiff_t>(size));
    begin += size;
  }
  return result;
}

class Records : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(both_.shake_hands()); }
  // Sends three of them.
  std::vector<Octets> send() {
    for (const char* text : {"one", "two", "three"})
      both_.client.write(bytes_of(text));
    return records_of(taken(both_.client));
  }
  // Reads the records in small parts.
  Octets receive(const std::vector<Octets>& records) {
    for (const Octets& record : records)
      put(both_.server, record);
    Octets result;
    for (Octets part = read_all(both_.server, 3); !part.empty(); part = read_all(both_.server, 3))
      result.insert(result.end(), part.begin(), part.end());
    return result;
  }

  Both both_;
};

TEST_F(Records, ComeInPartsOfAnySize) {
  const Octets text = bytes_of("what is said in a record of its own");
  both_.client.write(text);
  Octets got;
  for (const std::byte byte : taken(both_.client)) {
    put(both_.server, std::span(&byte, 1));
    for (Octets part = read_all(both_.server, 7); !part.empty(); part = read_all(both_.server, 7))
      got.insert(got.end(), part.begin(), part.end());
  }
  EXPECT_EQ(got, text);
}

TEST_F(Records, AreRefusedWhereAnyByteIsChanged) {
  both_.client.write(bytes_of("data"));
  const Octets record = taken(both_.client);
  for (std::size_t place = 0; place < record.size(); ++place) {
    for (int bit = 0; bit < 8; ++bit) {
      Both both;
      ASSERT_TRUE(both.shake_hands());
      both.client.write(bytes_of("data"));
      Octets sent = taken(both.client);
      sent[place] ^= std::byte{1} << bit;
      put(both.server, sent);
      Octets got(100);
      try {
        // If the length is larger now, the rest is awaited.
        EXPECT_EQ(both.server.read(got), 0U) << place;
        EXPECT_TRUE(place == 3 || place == 4) << place;
      } catch (const TlsError&) {
        continue;
      }
    }
  }
}

class RecordsOutOfOrder : public Records,
                          public testing::WithParamInterface<std::array<std::size_t, 2>> {};
INSTANTIATE_TEST_SUITE_P(TwiceOrSwappedOrMissing, RecordsOutOfOrder,
                         testing::Values(std::array<std::size_t, 2>{0, 0},
                                         std::array<std::size_t, 2>{1, 0},
                                         std::array<std::size_t, 2>{0, 2}));

TEST_P(RecordsOutOfOrder, AreRefused) {
  const auto sent = send();
  EXPECT_THROW(receive({sent[GetParam()[0]], sent[GetParam()[1]]}), TlsError);
}

TEST_F(Records, AreRefusedFromTheWrongSide) {
  both_.server.write(bytes_of("back"));
  put(both_.server, taken(both_.server));
  EXPECT_THROW(read_all(both_.server), TlsError);
}

TEST_F(Records, AreRefusedWhereAByteIsMissingOrPutIn) {
  const auto sent = send();
  Octets shorter = sent[0];
  shorter.erase(shorter.begin() + 8);
  EXPECT_THROW(receive({shorter, sent[1], sent[2]}), TlsError);
  Both other;
  ASSERT_TRUE(other.shake_hands());
  other.client.write(bytes_of("one"));
  Octets longer = taken(other.client);
  longer.insert(longer.begin(), std::byte{23});
  put(other.server, longer);
  EXPECT_THROW(read_all(other.server), TlsError);
}

TEST_F(Records, GoOnUnderNewKeys) {
  both_.client.replace_key_after(2);
  std::string expected;
  Octets got;
  for (int k = 0; k < 20; ++k) {
    both_.client.write(bytes_of(std::to_string(k)));
    expected += std::to_string(k);
    Both::pass(both_.client, both_.server, true, {});
    const Octets part = read_all(both_.server);
    got.insert(got.end(), part.begin(), part.end());
  }
  EXPECT_EQ(got, bytes_of(expected));
}

// ---- records that an attacker has changed, anywhere and in any way ----

// Changes, drops, repeats, exchanges, inserts or cuts off some of the bytes; the result always
// differs.
Octets changed(const Octets& data, Noise& noise) {
  Octets result = data;
  const std::size_t begin = noise.below(data.size());
  const std::size_t count = 1 + noise.below(noise.one_in(2) ? 1 : data.size() - begin);
  const auto at = [&](std::size_t place) {
    return result.begin() + static_cast<std::ptrdiff_t>(place);
  };
  const auto end = at(std::min(begin + count, data.size()));
  switch (noise.below(6)) {
    case 0:
      result[begin] ^= std::byte{1} << static_cast<int>(noise.below(8));
      break;
    case 1:
      result.erase(at(begin), end);
      break;
    case 2: {
      const Octets part(at(begin), end);
      result.insert(at(begin), part.begin(), part.end());
      break;
    }
    case 3:
      std::rotate(at(begin), at(begin + (data.size() - begin) / 2), result.end());
      break;
    case 4: {
      const Bytes some = Noise::bytes(1 + noise.below(100));
      result.insert(at(begin), some.begin(), some.end());
      break;
    }
    default:
      result.resize(begin);
  }
  if (result == data) result[begin] ^= std::byte{1};
  return result;
}

// Reads everything, in parts of any size, until it is refused.
Octets read(Tls& end, Noise& noise, bool& refused) {
  Octets result;
  try {
    for (;;) {
      const Octets part = read_all(end, 1 + noise.below(400));
      if (part.empty()) return result;
      result.insert(result.end(), part.begin(), part.end());
    }
  } catch (const TlsError&) {
    refused = true;
    return result;
  }
}

// GPUCAST_FUZZ_MESSAGES=1000000 takes minutes.
TEST(DamagedRecords, TellNothingBehindTheDamage) {
  constexpr int seed = 24;
  constexpr int records = 3;
  Noise noise(seed);
  std::size_t refusals = 0;
  std::size_t trials = 0;
  for (; trials * records < fuzz_messages(); ++trials) {
    Both both;
    ASSERT_TRUE(both.shake_hands());
    Octets text;
    for (int k = 0; k < records; ++k) {
      const Bytes some = Noise::bytes(1 + noise.below(noise.one_in(50) ? 40000 : 300));
      both.client.write(some);
      text.insert(text.end(), some.begin(), some.end());
    }
    put(both.server, changed(taken(both.client), noise));
    bool refused = false;
    const Octets got = read(both.server, noise, refused);
    // Data that is appended to the last record is noticed later.
    ASSERT_LE(got.size(), text.size());
    ASSERT_TRUE(std::equal(got.begin(), got.end(), text.begin())) << "trial " << trials;
    refusals += refused ? 1U : 0U;
  }
  EXPECT_GT(refusals, trials / 2);  // other readers wait for more, as after a cut
}

// Even without the key one can send data that is not TLS; none of it is taken for data.
TEST(DamagedRecords, NoiseIsNeitherAHandshakeNorData) {
  constexpr int seed = 25;
  Noise noise(seed);
  for (std::size_t trial = 0; trial < fuzz_messages() / 10; ++trial) {
    Both both;
    const bool whole = noise.one_in(2) && both.shake_hands();
    Octets data = bytes_of(noise.one_in(2) ? "\x17\x03\x03" : "\x16\x03\x03");
    const Bytes some = Noise::bytes(noise.below(40000));
    data.insert(data.end(), some.begin(), some.end());
    put(both.server, data);
    try {
      if (whole) {
        EXPECT_TRUE(read_all(both.server).empty());
      } else
        EXPECT_FALSE(both.server.shake_hands());
    } catch (const TlsError&) {
      continue;
    }
  }
}

// ---- libssl as the other end ----

// It has the key unless `change` says otherwise.
class Openssl {
 public:
  explicit Openssl(bool client, const std::function<void(SSL_CTX*)>& change = {})
      : context_(SSL_CTX_new(TLS_method())) {
    SSL_CTX_set_ciphersuites(context_.get(), "TLS_AES_128_GCM_SHA256");
    SSL_CTX_set_psk_use_session_callback(context_.get(), offer);
    SSL_CTX_set_psk_find_session_callback(context_.get(), find);
    if (change) change(context_.get());
    ssl_.reset(SSL_new(context_.get()));
    SSL_set_bio(ssl_.get(), BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
    BIO_set_mem_eof_return(SSL_get_rbio(ssl_.get()), -1);
    if (client)
      SSL_set_connect_state(ssl_.get());
    else
      SSL_set_accept_state(ssl_.get());
  }
  SSL* get() const { return ssl_.get(); }

  // Continues as far as possible.
  bool shake_hands() const {
    ERR_clear_error();
    return SSL_do_handshake(get()) == 1;
  }
  Octets sent() const {
    Octets result(BIO_ctrl_pending(SSL_get_wbio(get())));
    if (!result.empty())
      BIO_read(SSL_get_wbio(get()), result.data(), static_cast<int>(result.size()));
    return result;
  }
  void hear(std::span<const std::byte> bytes) const {
    if (!bytes.empty())
      BIO_write(SSL_get_rbio(get()), bytes.data(), static_cast<int>(bytes.size()));
  }
  void write(const Octets& data) const {
    EXPECT_EQ(SSL_write(get(), data.data(), static_cast<int>(data.size())),
              static_cast<int>(data.size()));
  }
  Octets read() const {
    Octets result(1 << 20);
    std::size_t total = 0;
    std::size_t got = 0;
    while (SSL_read_ex(get(), result.data() + total, result.size() - total, &got) == 1)
      total += got;
    result.resize(total);
    return result;
  }

 private:
  static SSL_SESSION* session(SSL* ssl) {
    const unsigned char suite[] = {0x13, 0x01};
    SSL_SESSION* result = SSL_SESSION_new();
    const Key key = key_of(7);
    SSL_SESSION_set1_master_key(result, key.bytes().data(), Key::size);
    SSL_SESSION_set_cipher(result, SSL_CIPHER_find(ssl, suite));
    SSL_SESSION_set_protocol_version(result, TLS1_3_VERSION);
    return result;
  }
  static int offer(SSL* ssl, const EVP_MD* /*hash*/, const unsigned char** id, std::size_t* size,
                   SSL_SESSION** result) {
    *id = reinterpret_cast<const unsigned char*>("hello");
    *size = 5;
    *result = session(ssl);
    return 1;
  }
  static int find(SSL* ssl, const unsigned char* /*id*/, std::size_t /*size*/,
                  SSL_SESSION** result) {
    *result = session(ssl);
    return 1;
  }

  struct Free {
    void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
    void operator()(SSL* ssl) const { SSL_free(ssl); }
  };
  std::unique_ptr<SSL_CTX, Free> context_;
  std::unique_ptr<SSL, Free> ssl_;
};

// Returns whether both are finished; rethrows our end's exceptions.
bool shake_hands(Tls& ours, const Openssl& other) {
  bool our_end = false;
  bool other_end = false;
  constexpr int flights = 3;
  for (int k = 0; k < flights; ++k) {
    if (!our_end) our_end = ours.shake_hands();
    other.hear(taken(ours));
    if (!other_end) other_end = other.shake_hands();
    put(ours, other.sent());
  }
  return our_end && other_end;
}

class WithOpenssl : public testing::TestWithParam<TlsSide> {
 protected:
  bool is_client() const { return GetParam() == TlsSide::client; }
  Tls ours_{GetParam(), key_of(7), bytes_of("hello")};
};
INSTANTIATE_TEST_SUITE_P(Sides, WithOpenssl, testing::Values(TlsSide::client, TlsSide::server));

TEST_P(WithOpenssl, RecordsAreWhatTheStandardSays) {
  const Openssl other(!is_client(), [](SSL_CTX* context) { SSL_CTX_set_num_tickets(context, 0); });
  ASSERT_TRUE(shake_hands(ours_, other));
  std::mt19937 random(20261123);
  ours_.replace_key_after(3);
  for (const std::size_t size : {1U, 3U, 16383U, 16384U, 16385U, 100'000U, 64U, 5U}) {
    Octets data(size);
    for (std::byte& byte : data)
      byte = static_cast<std::byte>(random());
    ours_.write(std::span(data).first(size / 3), std::span(data).subspan(size / 3));
    other.hear(taken(ours_));
    EXPECT_EQ(other.read(), data);
    if (size == 16384U) {
      EXPECT_EQ(SSL_key_update(other.get(), SSL_KEY_UPDATE_NOT_REQUESTED), 1);
    }
    other.write(data);
    put(ours_, other.sent());
    EXPECT_EQ(read_all(ours_, 1 << 20), data);
  }
}

TEST_P(WithOpenssl, ItsAlertsEndTheConnection) {
  const Openssl other(!is_client());
  ASSERT_TRUE(shake_hands(ours_, other));
  other.write(bytes_of("the last"));
  put(ours_, other.sent());
  EXPECT_EQ(read_all(ours_), bytes_of("the last"));
  SSL_shutdown(other.get());
  put(ours_, other.sent());
  EXPECT_THROW(read_all(ours_), TlsError);
}

TEST_P(WithOpenssl, WhoAsksForANewKeyGetsOneWithWhatIsWrittenNext) {
  const Openssl other(!is_client());
  ASSERT_TRUE(shake_hands(ours_, other));
  for (int k = 0; k < 40; ++k) {
    EXPECT_EQ(SSL_key_update(other.get(), SSL_KEY_UPDATE_REQUESTED), 1);
    other.write(bytes_of("ask"));
    put(ours_, other.sent());
    EXPECT_EQ(read_all(ours_), bytes_of("ask"));
    ours_.write(bytes_of("answer"));
    const Octets answer = taken(ours_);
    EXPECT_EQ(records_of(answer).size(), 2U);
    other.hear(answer);
    EXPECT_EQ(other.read(), bytes_of("answer"));
  }
}

TEST_P(WithOpenssl, AnotherSuiteIsRefused) {
  for (const char* suite : {"TLS_CHACHA20_POLY1305_SHA256", "TLS_AES_256_GCM_SHA384"}) {
    Tls ours(GetParam(), key_of(7), bytes_of("hello"));
    const Openssl other(!is_client(),
                        [&](SSL_CTX* context) { SSL_CTX_set_ciphersuites(context, suite); });
    EXPECT_THROW(shake_hands(ours, other), TlsError) << suite;
  }
}

TEST_P(WithOpenssl, AnotherVersionIsRefused) {
  const Openssl other(!is_client(), [](SSL_CTX* context) {
    SSL_CTX_set_max_proto_version(context, TLS1_2_VERSION);
  });
  EXPECT_THROW(shake_hands(ours_, other), TlsError);
}

// A peer without the key may have a certificate, and may not require the server's.
TEST_P(WithOpenssl, WhoHasNoKeyIsRefused) {
  const Openssl other(!is_client(), [](SSL_CTX* context) {
    SSL_CTX_set_psk_use_session_callback(context, nullptr);
    SSL_CTX_set_psk_find_session_callback(context, nullptr);
    EVP_PKEY* key = EVP_EC_gen("P-256");
    X509* certificate = X509_new();
    X509_set_pubkey(certificate, key);
    X509_gmtime_adj(X509_getm_notBefore(certificate), 0);
    X509_gmtime_adj(X509_getm_notAfter(certificate), 1000);
    X509_sign(certificate, key, EVP_sha256());
    EXPECT_EQ(SSL_CTX_use_certificate(context, certificate), 1);
    EXPECT_EQ(SSL_CTX_use_PrivateKey(context, key), 1);
    X509_free(certificate);
    EVP_PKEY_free(key);
  });
  EXPECT_THROW(shake_hands(ours_, other), TlsError);
}

}  // namespace
}  // namespace gpucast::remote
