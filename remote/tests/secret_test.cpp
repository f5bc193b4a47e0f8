// How each side proves that it has the secret; HMAC against the test cases of RFC 4231.
#include "security/secret.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "security/hmac.h"

namespace gpucast::remote {
namespace {

std::string hex(const Digest& digest) {
  std::string result;
  for (const std::uint8_t byte : digest) {
    const char* digits = "0123456789abcdef";
    result += digits[byte / 16];
    result += digits[byte % 16];
  }
  return result;
}

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

TEST(Secret, AProofDependsOnEverythingItIsMadeOf) {
  const Hello lane{.purpose = Purpose::control};
  const Hello channel{.purpose = Purpose::bulk};
  const Nonce one{1};
  const Nonce two{2};
  const Mac proof = prove("a secret of 16 bytes", Side::client, lane, one, two);
  EXPECT_EQ(proof, prove("a secret of 16 bytes", Side::client, lane, one, two));
  EXPECT_NE(proof, prove("another secret......", Side::client, lane, one, two));
  EXPECT_NE(proof, prove("a secret of 16 bytes", Side::server, lane, one, two));
  EXPECT_NE(proof, prove("a secret of 16 bytes", Side::client, channel, one, two));
  EXPECT_NE(proof, prove("a secret of 16 bytes", Side::client, lane, two, two));
  EXPECT_NE(proof, prove("a secret of 16 bytes", Side::client, lane, one, one));
}

}  // namespace
}  // namespace gpucast::remote
