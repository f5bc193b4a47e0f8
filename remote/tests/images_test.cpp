// Kernels' parameters in images of GPU code, compared with the host compiler's layout; and damaged
// images, which never cause reads beyond their end. AddressSanitizer checks that (make test-rest).
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>

#include "images/compression.h"
#include "images/kernel_parameters.h"
#include "tests/images/kernels.h"

namespace gpucast::remote::images {
namespace {

// The host's layout of consecutive parameters, which CUDA guarantees for its kernels.
template <class... Parameters>
Layout as_on_the_host() {
  Layout layout;
  std::size_t end = 0;
  const auto place = [&](std::size_t alignment, std::size_t bytes) {
    end = (end + alignment - 1) / alignment * alignment;
    layout.push_back(
        {.offset = static_cast<std::uint32_t>(end), .bytes = static_cast<std::uint32_t>(bytes)});
    end += bytes;
  };
  (place(alignof(Parameters), sizeof(Parameters)), ...);
  return layout;
}

Layout ptx_layout(const std::string& parameters) {
  const Layouts layouts = layouts_of_ptx(".visible .entry k(" + parameters + ")\n{ ret; }");
  EXPECT_TRUE(layouts.contains("k"));
  return layouts.contains("k") ? layouts.at("k") : Layout();
}

TEST(Ptx, ParametersAreAlignedToTheirSize) {
  EXPECT_EQ(ptx_layout(""), Layout());
  EXPECT_EQ(ptx_layout(".param .u8 a, .param .u64 b, .param .f16 c, .param .b32 d"),
            (Layout{{0, 1}, {8, 8}, {16, 2}, {20, 4}}));
}

TEST(Ptx, StructuresAreBytesWithTheirAlignment) {
  EXPECT_EQ(ptx_layout(".param .u8 a, .param .align 16 .b8 b[24], .param .b8 c[3]"),
            (Layout{{0, 1}, {16, 24}, {40, 3}}));
}

TEST(Ptx, WhatAPointerPointsToDoesNotAlignThePointer) {
  EXPECT_EQ(ptx_layout(".param .u32 a, .param .u64 .ptr .global .align 256 b, .param .u8 c"),
            (Layout{{0, 4}, {8, 8}, {16, 1}}));
}

TEST(Ptx, CommentsAndStringsSayNothing) {
  const Layouts layouts = layouts_of_ptx(
      "// .entry a(.param .u64 x)\n/* .entry b(.param .u64 x) */\n"
      ".pragma \".entry c(.param .u64 x)\";\n"
      ".entry /* d */ real( // one\n.param /*.u64*/ .u32 x) {}");
  EXPECT_EQ(layouts, (Layouts{{"real", {{0, 4}}}}));
}

TEST(Ptx, KernelsWithTexturesAreLeftOut) {
  const Layouts layouts =
      layouts_of_ptx(".entry a(.param .texref t) {} .entry b {} .entry c(.param .u32 x) {}");
  EXPECT_EQ(layouts, (Layouts{{"b", {}}, {"c", {{0, 4}}}}));
}

TEST(Ptx, ThatEndsWithinAKernelsParametersIsRefused) {
  EXPECT_THROW(layouts_of_ptx(".entry a(.param .u32"), ImageError);
  EXPECT_THROW(layouts_of_ptx(".entry a("), ImageError);
}

TEST(Cubins, OtherFilesAreNone) {
  EXPECT_THROW(layouts_of_cubin({}), ImageError);
  const std::vector<std::byte> zeros(1000);
  EXPECT_THROW(layouts_of_cubin(zeros), ImageError);
}

TEST(Layouts, AreTheSameWithTheSameSizesInTheSameOrderWithoutOverlap) {
  const Layout own = {{0, 1}, {32, 32}, {64, 8}};
  EXPECT_TRUE(same_parameters(own, own));
  EXPECT_TRUE(same_parameters(own, {{0, 1}, {48, 32}, {80, 8}}));
  EXPECT_FALSE(same_parameters(own, {{0, 1}, {32, 32}}));
  EXPECT_FALSE(same_parameters(own, {{0, 1}, {32, 32}, {64, 8}, {72, 8}}));
  EXPECT_FALSE(same_parameters(own, {{0, 1}, {32, 32}, {64, 9}}));
  EXPECT_FALSE(same_parameters(own, {{0, 1}, {32, 32}, {63, 8}}));
  EXPECT_FALSE(same_parameters(own, {{0, 1}, {32, 32}, {32764, 8}}));
  EXPECT_FALSE(same_parameters({{0, 8}}, {{0xfffffff8, 8}}));
}

TEST(FatBinaries, OfNoSuchFormHaveNoKernels) {
  const std::vector<std::byte> zeros(1000);
  KernelParameters none(zeros);
  EXPECT_EQ(none.of("k"), nullptr);
  EXPECT_EQ(none.unread(), "");
}

// ---- as nvcc makes them ----

using Content = std::vector<std::byte>;

constexpr std::array image_names = {"plain_sm80", "plain_sm100", "zstd_sm90", "lz4_sm90",
                                    "plain_ptx",  "zstd_ptx",    "lz4_ptx",   "both"};

// Empty if there was no CUDA compiler when this was built.
Content image_of([[maybe_unused]] const std::string& name) {
#ifdef GPUCAST_TEST_IMAGES
  std::ifstream file(std::filesystem::path(GPUCAST_TEST_IMAGES) / (name + ".fatbin"),
                     std::ios::binary);
  const std::vector<char> read((std::istreambuf_iterator<char>(file)), {});
  const auto bytes = std::as_bytes(std::span(read));
  EXPECT_FALSE(read.empty());
  return {bytes.begin(), bytes.end()};
#else
  return {};
#endif
}

class Images : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (image_.empty()) GTEST_SKIP() << "no CUDA compiler when this was built";
  }
  const Content image_ = image_of(GetParam());
};
INSTANTIATE_TEST_SUITE_P(OfNvcc, Images, testing::ValuesIn(image_names),
                         [](const auto& image) { return std::string(image.param); });

TEST_P(Images, SayWhereEachKernelsParametersLie) {
  KernelParameters parameters(image_);
  const auto layout_of = [&](const std::string& kernel) {
    const Layout* layout = parameters.of(kernel);
    EXPECT_NE(layout, nullptr) << kernel << ": " << parameters.unread();
    return layout == nullptr ? Layout() : *layout;
  };
  EXPECT_EQ(layout_of("nothing"), Layout());
  EXPECT_EQ(layout_of("unused"), (as_on_the_host<int, double, char, float*>()));
  EXPECT_EQ(layout_of("scalars"),
            (as_on_the_host<char, short, int, long long, float, double, bool, double*>()));
  EXPECT_EQ(layout_of("structures"), (as_on_the_host<Mixed, char, Odd, short, Nested, double*>()));
  // sm_90 and newer use other offsets.
  EXPECT_TRUE(same_parameters(layout_of("wide"), as_on_the_host<char, Wide, char, float*>()));
  EXPECT_EQ(layout_of("large"), (as_on_the_host<char, Large, Large, int, char*>()));
  EXPECT_EQ(layout_of("_ZN11of_the_test5storeI5MixedEEvT_PS2_"), (as_on_the_host<Mixed, Mixed*>()));
  EXPECT_EQ(layout_of("_ZN11of_the_test5storeIcEEvT_PS1_"), (as_on_the_host<char, char*>()));
  EXPECT_EQ(parameters.of("not_there"), nullptr);
}

TEST_P(Images, SayItOfParametersBeyondFourKilobytes) {
  if (GetParam() == std::string("plain_sm80")) GTEST_SKIP() << "sm_80 has no such kernels";
  KernelParameters parameters(image_);
  const Layout* huge = parameters.of("huge");
  ASSERT_NE(huge, nullptr);
  EXPECT_EQ(*huge, (as_on_the_host<int, Huge, Huge, char*>()));
}

// ---- damaged ones ----

// Rounds per image; GPUCAST_FUZZ_ROUNDS sets another number.
int rounds() {
  constexpr int usual = 300;
  const char* asked = std::getenv("GPUCAST_FUZZ_ROUNDS");
  return asked == nullptr ? usual : static_cast<int>(std::strtol(asked, nullptr, 10));
}

std::vector<Content> samples() {
  std::vector<Content> result;
  result.reserve(image_names.size());
  for (const char* name : image_names)
    result.push_back(image_of(name));
  if (result[0].empty()) result.clear();
  return result;
}

// A copy of exactly the right size, so that any read beyond it is detected.
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
    // Headers, tables and attributes are changed more often than by chance.
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
  std::size_t kernels = 0;
  for (const Content& image : images) {
    for (int round = 0; round < rounds(); ++round) {
      const Content bad = damaged.of(image);
      KernelParameters parameters(bad);
      kernels += parameters.of("not_there") == nullptr ? 0U : 1U;
    }
  }
  EXPECT_EQ(kernels, 0U);
}

// Damage after decompression, since damage to the container rarely gets there.
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
          if (member.kind == Kind::cubin)
            layouts_of_cubin(bad);
          else
            layouts_of_ptx({reinterpret_cast<const char*>(bad.data()), bad.size()});
        } catch (const ImageError&) {
          continue;  // as it should
        }
      }
    }
  }
}

}  // namespace
}  // namespace gpucast::remote::images
