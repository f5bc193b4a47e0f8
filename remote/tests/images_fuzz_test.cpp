// Damaged images: whatever they say, nothing is read beyond them. AddressSanitizer is the judge
// (make test-rest).
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "images/compression.h"
#include "images/kernel_parameters.h"
#include "images/layouts.h"

namespace gpucast::remote::images {
namespace {

using Content = std::vector<std::byte>;

// Rounds for each image; GPUCAST_FUZZ_ROUNDS asks for more.
int rounds() {
  constexpr int usual = 300;
  const char* asked = std::getenv("GPUCAST_FUZZ_ROUNDS");
  return asked == nullptr ? usual : static_cast<int>(std::strtol(asked, nullptr, 10));
}

std::vector<Content> samples() {
  std::vector<Content> result;
#ifdef GPUCAST_TEST_IMAGES
  for (const auto& entry : std::filesystem::directory_iterator(GPUCAST_TEST_IMAGES)) {
    if (entry.path().extension() != ".fatbin") continue;
    std::ifstream file(entry.path(), std::ios::binary);
    const std::vector<char> read((std::istreambuf_iterator<char>(file)), {});
    const auto* begin = reinterpret_cast<const std::byte*>(read.data());
    result.emplace_back(begin, begin + read.size());
  }
#endif
  return result;
}

// A copy of exactly its size, so that each byte beyond is one too many.
class Damaged {
 public:
  explicit Damaged(unsigned seed) : random_(seed) {}
  Content of(Content image) {
    const std::size_t changes = 1 + below(8);
    for (std::size_t k = 0; k < changes && !image.empty(); ++k)
      change(image);
    if (below(4) == 0) image.resize(below(image.size() + 1));
    image.shrink_to_fit();
    return image;
  }

 private:
  std::size_t below(std::size_t end) { return random_() % std::max<std::size_t>(end, 1); }
  void change(Content& image) {
    // Headers, tables and attributes are found more often than chance would have it.
    const std::size_t within =
        below(2) == 0 ? std::min<std::size_t>(image.size(), 160) : image.size();
    const std::size_t at = below(within);
    constexpr std::uint64_t values[] = {
        0, 1, 0x7f, 0xff, 0xffff, 0x7fffffff, 0xffffffff, 0x8000000000000000, ~std::uint64_t{0}};
    const std::uint64_t value = below(2) == 0 ? values[below(std::size(values))] : random_();
    const std::size_t bytes = std::size_t{1} << below(4);
    std::memcpy(image.data() + at, &value, std::min(bytes, image.size() - at));
  }

  std::mt19937_64 random_;
};

TEST(DamagedImages, AreReadWithinTheirBounds) {
  const std::vector<Content> images = samples();
  if (images.empty()) GTEST_SKIP() << "no CUDA compiler when this was built";
  Damaged damaged(1);
  std::size_t found = 0;
  for (const Content& image : images) {
    for (int round = 0; round < rounds(); ++round) {
      const Content bad = damaged.of(image);
      KernelParameters parameters(bad);
      found += parameters.of("not_there") == nullptr ? 0U : 1U;
    }
  }
  EXPECT_EQ(found, 0U);
}

// Behind the decompression, where damage to the container seldom comes.
TEST(DamagedImages, AreReadWithinTheBoundsOfTheirMembers) {
  const std::vector<Content> images = samples();
  if (images.empty()) GTEST_SKIP() << "no CUDA compiler when this was built";
  Damaged damaged(2);
  for (const Content& image : images) {
    for (const Member& member : members_of(image)) {
      Content room;
      const Bytes plain = plain_content(member, room);
      for (int round = 0; round < rounds(); ++round) {
        const Content bad = damaged.of({plain.begin(), plain.end()});
        try {
          if (member.kind == Kind::cubin) {
            layouts_of_cubin(bad);
          } else {
            layouts_of_ptx({reinterpret_cast<const char*>(bad.data()), bad.size()});
          }
        } catch (const ImageError&) {
          continue;  // as it should be
        }
      }
    }
  }
}

}  // namespace
}  // namespace gpucast::remote::images
