#include <gtest/gtest.h>

#include "physics/particle.h"

namespace gpucast::mdapp {
namespace {

TEST(Share, SharesLaidEndToEndAreAllParticles) {
  for (int n = 0; n <= 50; ++n) {
    for (int parts = 1; parts <= 9; ++parts) {
      int next = 0;
      for (int part = 0; part < parts; ++part) {
        const Share share = share_of(n, parts, part);
        EXPECT_EQ(share.first, next) << n << " " << parts << " " << part;
        EXPECT_GE(share.count, 0);
        next += share.count;
      }
      EXPECT_EQ(next, n) << n << " " << parts;
    }
  }
}

TEST(Share, NoneIsLargerThanTheFirst) {
  for (int n = 0; n <= 50; ++n) {
    for (int parts = 1; parts <= 9; ++parts) {
      EXPECT_EQ(share_of(n, parts, 0).count, (n + parts - 1) / parts);
      for (int part = 1; part < parts; ++part)
        EXPECT_LE(share_of(n, parts, part).count, share_of(n, parts, part - 1).count);
    }
  }
}

TEST(Share, ManyParticlesAndPartsDoNotOverflow) {
  const Share last = share_of(2'000'000'000, 9, 8);
  EXPECT_EQ(last.first + last.count, 2'000'000'000);
}

}  // namespace
}  // namespace gpucast::mdapp
