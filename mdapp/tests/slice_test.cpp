#include <gtest/gtest.h>

#include "physics/particle.h"

namespace gpucast::mdapp {
namespace {

TEST(Slice, SlicesLaidEndToEndAreAllParticles) {
  for (int n = 0; n <= 50; ++n) {
    for (int parts = 1; parts <= 9; ++parts) {
      int next = 0;
      for (int part = 0; part < parts; ++part) {
        const Slice slice = slice_of(n, parts, part);
        EXPECT_EQ(slice.first, next) << n << " " << parts << " " << part;
        EXPECT_GE(slice.count, 0);
        next += slice.count;
      }
      EXPECT_EQ(next, n) << n << " " << parts;
    }
  }
}

TEST(Slice, NoneIsLargerThanTheFirst) {
  for (int n = 0; n <= 50; ++n) {
    for (int parts = 1; parts <= 9; ++parts) {
      EXPECT_EQ(slice_of(n, parts, 0).count, (n + parts - 1) / parts);
      for (int part = 1; part < parts; ++part)
        EXPECT_LE(slice_of(n, parts, part).count, slice_of(n, parts, part - 1).count);
    }
  }
}

TEST(Slice, ManyParticlesAndPartsDoNotOverflow) {
  const Slice last = slice_of(2'000'000'000, 9, 8);
  EXPECT_EQ(last.first + last.count, 2'000'000'000);
}

}  // namespace
}  // namespace gpucast::mdapp
