#include "physics/salt.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace gpucast::mdapp {
namespace {

struct Row {
  std::size_t i, j;
  double A, sigma, C, D;
};

TEST(Salt, SodiumChlorideHasThePublishedConstants) {
  const Salt salt = nacl();
  for (const Row& row :
       {Row{0, 0, 0.263704, 2.340, 1.0486, 0.4993}, Row{0, 1, 0.210963, 2.755, 6.9905, 8.6757},
        Row{1, 1, 0.158222, 3.170, 72.4015, 145.427}}) {
    const TosiFumi& pair = salt.pair[row.i][row.j];
    EXPECT_NEAR(pair.A, row.A, 1e-5 * row.A);
    EXPECT_EQ(pair.sigma, row.sigma);
    EXPECT_NEAR(pair.C, row.C, 1e-4 * row.C);
    EXPECT_NEAR(pair.D, row.D, 1e-4 * row.D);
  }
}

TEST(Salt, LikeIonsRepelAndUnlikeIonsAttract) {
  for (const Salt& salt : {nacl(), kcl(), nacl(ConstantSet::claret), kcl(ConstantSet::claret)}) {
    EXPECT_EQ(salt.pair[0][0].charge, salt.constants.coulomb);
    EXPECT_EQ(salt.pair[1][1].charge, salt.constants.coulomb);
    EXPECT_EQ(salt.pair[0][1].charge, -salt.constants.coulomb);
    EXPECT_EQ(salt.pair[1][0].charge, -salt.constants.coulomb);
  }
}

TEST(Salt, ClaretsConstantsAreTheRoundedOnes) {
  const Constants rounded = nacl(ConstantSet::claret).constants;
  EXPECT_EQ(rounded.coulomb, 14.39);
  EXPECT_DOUBLE_EQ(rounded.joule, 1 / 1.60219e-19);
  EXPECT_EQ(rounded.boltzmann, 8.617080363e-5);
}

// 4 ions of each kind in a cube of this side weigh what the melt's density says at 300 K.
TEST(Salt, TheLatticeHasTheDensityOfTheMelt) {
  const auto density = [](const Salt& salt) {  // g/cm^3
    const double side = salt.lattice_constant * 1e-8;
    return 4 * (salt.mass[0] + salt.mass[1]) * 1.66053906660e-24 / (side * side * side);
  };
  EXPECT_NEAR(density(nacl()), 2.1393 - 0.543e-3 * 300, 1e-4);
  EXPECT_NEAR(density(kcl()), 2.1359 - 0.5831e-3 * 300, 1e-10);
}

TEST(Salt, IsFoundByName) {
  EXPECT_EQ(salt("NaCl").symbol[0], "Na");
  EXPECT_EQ(salt("KCl").symbol[0], "K");
  EXPECT_THROW(salt("LiCl"), std::invalid_argument);
}

}  // namespace
}  // namespace gpucast::mdapp
