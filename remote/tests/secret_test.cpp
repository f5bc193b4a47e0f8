// Which secrets are accepted, and how each side proves that it has one; HMAC and HKDF are compared
// with the test cases of RFC 4231 and RFC 5869.
#include "security/secret.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <numeric>
#include <random>

#include "tests/own_folder.h"

namespace gpucast::remote {
namespace {

std::vector<std::uint8_t> bytes(const std::string& text) { return {text.begin(), text.end()}; }

TEST(Hmac, Rfc4231) {
  EXPECT_EQ(hex(hmac_sha256(std::vector<std::uint8_t>(20, 0x0b), bytes("Hi There"))),
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
  EXPECT_EQ(hex(hmac_sha256(bytes("Jefe"), bytes("what do ya want for nothing?"))),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  EXPECT_EQ(
      hex(hmac_sha256(std::vector<std::uint8_t>(20, 0xaa), std::vector<std::uint8_t>(50, 0xdd))),
      "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe");
  EXPECT_EQ(hex(hmac_sha256(std::vector<std::uint8_t>(131, 0xaa),
                            bytes("Test Using Larger Than Block-Size Key - Hash Key First"))),
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

// Test case 1, as far as the length of a key.
TEST(Hkdf, Rfc5869) {
  const std::vector<std::uint8_t> material(22, 0x0b);
  std::vector<std::uint8_t> salt(13);
  std::iota(salt.begin(), salt.end(), std::uint8_t{0});
  std::string purpose;
  for (int k = 0xf0; k < 0xfa; ++k)
    purpose += static_cast<char>(k);
  const Key key = derive_key(material, salt, purpose);
  Digest digest{};
  std::ranges::copy(key.bytes(), digest.begin());
  EXPECT_EQ(hex(digest), "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf");
}

Key key_of(const std::string& text) { return derive_key(bytes(text), {}, "tests"); }

bool are_same(const Key& first, const Key& second) { return same(first.bytes(), second.bytes()); }

class Secrets : public testing::Test {
 protected:
  std::string file(const std::string& content, mode_t mode = 0600) const {
    const std::string path = folder_.path() + "/secret";
    ::unlink(path.c_str());
    std::ofstream(path) << content;
    EXPECT_EQ(::chmod(path.c_str(), mode), 0);
    return path;
  }
  // Returns the error, or an empty text if the secret is accepted.
  std::string refusal(const std::string& content) const {
    try {
      read_secret(file(content));
      return "";
    } catch (const std::runtime_error& error) {
      return error.what();
    }
  }
  OwnFolder folder_;
};

TEST_F(Secrets, AreTheFilesContentWithoutWhiteSpaceAtItsEnd) {
  const std::string text = "jx72kq9wm4tzb1e5";
  const Key key = read_secret(file(text)).tls;
  EXPECT_TRUE(are_same(read_secret(file(text + "\n")).tls, key));
  EXPECT_TRUE(are_same(read_secret(file(text + " \r\n\n")).tls, key));
  EXPECT_FALSE(are_same(read_secret(file(text + "6")).tls, key));
  EXPECT_FALSE(are_same(read_secret(file("\n" + text)).tls, key));
  EXPECT_FALSE(are_same(read_secret(file(text)).plain, key));
}

TEST_F(Secrets, AreRefusedWhereTheyCanBeGuessed) {
  for (const char* weak :
       {"aaaaaaaaaaaaaaaaaaaaaaaa", "abcdabcdabcdabcdabcdabcd", "0123456789abcdef",
        "zyxwvutsrqponmlkji", "passwordpassword", "aabbccddeeffgghhii", "11112222333344445555"}) {
    EXPECT_NE(refusal(weak).find("can be guessed; make one: head -c 32 /dev/urandom"),
              std::string::npos)
        << weak;
  }
  EXPECT_NE(refusal("jx72kq9wm4tzb1e").find("at least 16 bytes"), std::string::npos);
  EXPECT_NE(refusal(std::string("jx72kq9wm4tzb1e5\0", 17)).find("NUL"), std::string::npos);
}

TEST_F(Secrets, AreTakenWhereTheyAreRandom) {
  std::mt19937 random(1);
  for (const std::string digits :
       {"0123456789abcdef", "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklm+/"}) {
    for (int k = 0; k < 1000; ++k) {
      std::string text;
      for (int n = 0; n < 32; ++n)
        text += digits[random() % digits.size()];
      EXPECT_EQ(refusal(text), "");
    }
  }
}

TEST_F(Secrets, AreReadToABound) {
  EXPECT_NE(refusal(std::string(5000, 'x')).find("longer than a secret may be"), std::string::npos);
  EXPECT_THROW(read_secret("/dev/zero"), std::runtime_error);
}

TEST_F(Secrets, AreNotReadWhereOthersMay) {
  EXPECT_THROW(read_secret(file("jx72kq9wm4tzb1e5", 0640)), std::runtime_error);
  try {
    read_secret(folder_.path());
    FAIL() << "a folder is no secret";
  } catch (const std::runtime_error& error) {
    EXPECT_EQ(error.what(), folder_.path() + ": cannot be read: Is a directory");
  }
}

TEST_F(Secrets, OfOneUserAreMadeByAServerAndFoundByClients) {
  folder_.use();
  EXPECT_FALSE(find_own_secret().has_value());
  const SecretKeys made = make_own_secret();
  EXPECT_TRUE(made.is_own);
  EXPECT_TRUE(are_same(make_own_secret().tls, made.tls));
  EXPECT_TRUE(are_same(find_own_secret().value_or(SecretKeys{}).tls, made.tls));
  EXPECT_TRUE(are_same(read_secret(made.file).tls, made.tls));
  struct stat facts{};
  ASSERT_EQ(::stat(made.file.c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777U, 0600U);
  ASSERT_EQ(::chmod(made.file.c_str(), 0644), 0);
  EXPECT_THROW(find_own_secret(), std::runtime_error);
  EXPECT_THROW(make_own_secret(), std::runtime_error);
}

TEST(Secret, AProofDependsOnEverythingItIsMadeOf) {
  const Hello lane{.purpose = Purpose::control};
  const Hello channel{.purpose = Purpose::bulk};
  const Nonce one{1};
  const Nonce two{2};
  const Mac proof = prove(key_of("a secret of 16 bytes"), Side::client, lane, one, two);
  EXPECT_EQ(proof, prove(key_of("a secret of 16 bytes"), Side::client, lane, one, two));
  EXPECT_NE(proof, prove(key_of("another secret......"), Side::client, lane, one, two));
  EXPECT_NE(proof, prove(key_of("a secret of 16 bytes"), Side::server, lane, one, two));
  EXPECT_NE(proof, prove(key_of("a secret of 16 bytes"), Side::client, channel, one, two));
  EXPECT_NE(proof, prove(key_of("a secret of 16 bytes"), Side::client, lane, two, two));
  EXPECT_NE(proof, prove(key_of("a secret of 16 bytes"), Side::client, lane, one, one));
}

}  // namespace
}  // namespace gpucast::remote
