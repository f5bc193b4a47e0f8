// Kernels' parameters as images of GPU code say them, beside where the host's compiler puts them.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "images/kernel_parameters.h"
#include "images/layouts.h"
#include "tests/images/kernels.h"

namespace gpucast::remote::images {
namespace {

// As the host lays these out one behind the other, which CUDA promises of its kernels.
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
  const Layouts found = layouts_of_ptx(".visible .entry k(" + parameters + ")\n{ ret; }");
  EXPECT_TRUE(found.contains("k"));
  return found.contains("k") ? found.at("k") : Layout();
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
  const Layouts found = layouts_of_ptx(
      "// .entry a(.param .u64 x)\n/* .entry b(.param .u64 x) */\n"
      ".pragma \".entry c(.param .u64 x)\";\n"
      ".entry /* d */ real( // one\n.param /*.u64*/ .u32 x) {}");
  EXPECT_EQ(found, (Layouts{{"real", {{0, 4}}}}));
}

TEST(Ptx, KernelsWithTexturesAreLeftOut) {
  const Layouts found =
      layouts_of_ptx(".entry a(.param .texref t) {} .entry b {} .entry c(.param .u32 x) {}");
  EXPECT_EQ(found, (Layouts{{"b", {}}, {"c", {{0, 4}}}}));
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

class Images : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
#ifdef GPUCAST_TEST_IMAGES
    std::ifstream file(std::filesystem::path(GPUCAST_TEST_IMAGES) / (GetParam() + ".fatbin"),
                       std::ios::binary);
    const std::vector<char> read((std::istreambuf_iterator<char>(file)), {});
    const auto* begin = reinterpret_cast<const std::byte*>(read.data());
    image_.assign(begin, begin + read.size());
    ASSERT_FALSE(image_.empty());
#else
    GTEST_SKIP() << "no CUDA compiler when this was built";
#endif
  }
  std::vector<std::byte> image_;
};
INSTANTIATE_TEST_SUITE_P(OfNvcc, Images,
                         testing::Values("plain_sm80", "plain_sm100", "zstd_sm90", "lz4_sm90",
                                         "plain_ptx", "zstd_ptx", "lz4_ptx", "both"),
                         [](const auto& each) { return each.param; });

TEST_P(Images, SayWhereEachKernelsParametersLie) {
  KernelParameters parameters(image_);
  const auto of = [&](const std::string& kernel) {
    const Layout* found = parameters.of(kernel);
    EXPECT_NE(found, nullptr) << kernel << ": " << parameters.unread();
    return found == nullptr ? Layout() : *found;
  };
  EXPECT_EQ(of("nothing"), Layout());
  EXPECT_EQ(of("unused"), (as_on_the_host<int, double, char, float*>()));
  EXPECT_EQ(of("scalars"),
            (as_on_the_host<char, short, int, long long, float, double, bool, double*>()));
  EXPECT_EQ(of("structures"), (as_on_the_host<Mixed, char, Odd, short, Nested, double*>()));
  // Which sm_90 and newer place otherwise.
  EXPECT_TRUE(same_parameters(of("wide"), as_on_the_host<char, Wide, char, float*>()));
  EXPECT_EQ(of("large"), (as_on_the_host<char, Large, Large, int, char*>()));
  EXPECT_EQ(of("_ZN11of_the_test5storeI5MixedEEvT_PS2_"), (as_on_the_host<Mixed, Mixed*>()));
  EXPECT_EQ(of("_ZN11of_the_test5storeIcEEvT_PS1_"), (as_on_the_host<char, char*>()));
  EXPECT_EQ(parameters.of("not_there"), nullptr);
}

TEST_P(Images, SayItOfParametersBeyondFourKilobytes) {
  if (GetParam() == "plain_sm80") GTEST_SKIP() << "sm_80 has no such kernels";
  KernelParameters parameters(image_);
  const Layout* found = parameters.of("huge");
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(*found, (as_on_the_host<int, Huge, Huge, char*>()));
}

}  // namespace
}  // namespace gpucast::remote::images
