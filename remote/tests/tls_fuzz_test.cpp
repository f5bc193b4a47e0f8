// Records of TLS that somebody between has changed: at any place, in any way. What is read of them
// is what was said, up to there. GPUCAST_FUZZ_MESSAGES=1000000 takes minutes.
#include <gtest/gtest.h>

#include "security/tls_records.h"
#include "tests/noise.h"

namespace gpucast::remote {
namespace {

using Octets = std::vector<std::byte>;

// Some bytes of what goes over the network changed, dropped, repeated, exchanged, put in, or cut
// off; never as they were.
Octets changed(const Octets& said, Noise& noise) {
  Octets result = said;
  const std::size_t begin = noise.below(said.size());
  const std::size_t count = 1 + noise.below(noise.one_in(2) ? 1 : said.size() - begin);
  const auto at = [&](std::size_t place) {
    return result.begin() + static_cast<std::ptrdiff_t>(place);
  };
  const auto end = at(std::min(begin + count, said.size()));
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
      std::rotate(at(begin), at(begin + (said.size() - begin) / 2), result.end());
      break;
    case 4: {
      const Bytes some = Noise::bytes(1 + noise.below(100));
      result.insert(at(begin), some.begin(), some.end());
      break;
    }
    default:
      result.resize(begin);
  }
  if (result == said) result[begin] ^= std::byte{1};
  return result;
}

// All that is read of it, in parts of any size, until it is refused.
Octets read(const Octets& said, RecordReader& reader, Noise& noise, bool& refused) {
  ByteQueue in;
  in.put(said);
  Octets result;
  try {
    for (;;) {
      Octets part(1 + noise.below(400));
      const std::size_t got = reader.read(part, in);
      if (got == 0) return result;
      part.resize(got);
      result.insert(result.end(), part.begin(), part.end());
    }
  } catch (const TlsError&) {
    refused = true;
    return result;
  }
}

TEST(DamagedRecords, TellNothingBehindTheDamage) {
  constexpr int seed = 24;
  constexpr int each = 3;  // records
  Noise noise(seed);
  Key key;
  std::ranges::fill(key.bytes(), std::uint8_t{5});
  std::size_t refusals = 0;
  std::size_t trials = 0;
  for (; trials * each < fuzz_messages(); ++trials) {
    RecordWriter writer(key);
    RecordReader reader(key);
    ByteQueue out;
    Octets text;
    for (int k = 0; k < each; ++k) {
      const Bytes some = Noise::bytes(1 + noise.below(noise.one_in(50) ? 40000 : 300));
      writer.write(some, {}, out);
      text.insert(text.end(), some.begin(), some.end());
    }
    const Octets said(out.content().begin(), out.content().end());
    bool refused = false;
    const Octets got = read(changed(said, noise), reader, noise, refused);
    // What is added behind the last record is noticed with what follows.
    ASSERT_LE(got.size(), text.size());
    ASSERT_TRUE(std::equal(got.begin(), got.end(), text.begin())) << "trial " << trials;
    refusals += refused ? 1U : 0U;
  }
  EXPECT_GT(refusals, trials / 2);  // others wait for more, as those that were cut off
}

}  // namespace
}  // namespace gpucast::remote
