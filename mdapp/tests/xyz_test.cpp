#include "physics/xyz.h"

#include "common.h"
#include "gpucast/support/errors.h"

namespace gpucast::mdapp {
namespace {

using test::contains;

const Surroundings open_box;

XyzStart parsed(const std::string& text, const Surroundings& around = open_box) {
  return parse_xyz("start.xyz", text, nacl(), around);
}

std::string refusal_of(const std::string& text, const Surroundings& around = open_box) {
  try {
    parsed(text, around);
  } catch (const support::InputError& error) {
    return error.what();
  }
  return "nothing was refused";
}

TEST(Xyz, AFrameReadsBackToTheSameBits) {
  System system = rock_salt(nacl(), 27);
  set_velocities(system, 1100, 7);
  const XyzStart back = parsed(xyz_frame(system, 2e-15));
  EXPECT_TRUE(back.has_velocities);
  EXPECT_EQ(back.system.r, system.r);
  EXPECT_EQ(back.system.origin, system.origin);
  EXPECT_EQ(back.system.cations, system.cations);
  EXPECT_EQ(back.system.boundary.side, system.boundary.side);
  for (std::size_t k = 0; k < system.v.size(); ++k)
    EXPECT_NEAR(back.system.v[k], system.v[k], 1e-15);
}

TEST(Xyz, AFrameOfAPeriodicBoxReadsBackToTheSameBits) {
  const Surroundings around{.kind = BoundaryKind::dsf};
  const System system = rock_salt(kcl(), 64, around);
  const XyzStart back = parse_xyz("frame", xyz_frame(system, 0), kcl(), around);
  EXPECT_EQ(back.system.r, system.r);
  EXPECT_EQ(back.system.boundary.cutoff, system.boundary.cutoff);
}

TEST(Xyz, AFrameStandsInTheOrderOfTheStart) {
  const XyzStart start = parsed("3\n\nCl 1 0 0\nNa 2 0 0\nCl 3 0 0\n");
  const std::string frame = xyz_frame(start.system, 0);
  EXPECT_LT(frame.find("Cl 1 0 0"), frame.find("Na 2 0 0"));
  EXPECT_LT(frame.find("Na 2 0 0"), frame.find("Cl 3 0 0"));
}

TEST(Xyz, WithoutALatticeTheBoxIsThatOfALatticeOfSoManyIons) {
  const XyzStart start = parsed("2\n\nNa 0 0 0\nCl 2.5 0 0\n");
  EXPECT_EQ(start.system.boundary.side, rock_salt(nacl(), 2).boundary.side);
  EXPECT_FALSE(start.has_velocities);
}

TEST(Xyz, ALatticeWithoutOriginStartsAtZero) {
  const XyzStart start = parsed("2\nLattice=\"20 0 0 0 20 0 0 0 20\"\nNa 10 10 10\nCl 12 10 10\n");
  EXPECT_EQ(start.system.r, (std::vector<double>{0, 0, 0, 2, 0, 0}));
}

TEST(Xyz, ParticlesOfAPeriodicBoxAreBroughtIntoIt) {
  const XyzStart start =
      parsed("2\nLattice=\"20 0 0 0 20 0 0 0 20\" Origin=\"-10 -10 -10\"\nNa 11 0 0\nCl 0 0 -31\n",
             {.kind = BoundaryKind::minimum_image});
  EXPECT_EQ(start.system.r, (std::vector<double>{-9, 0, 0, 0, 0, 9}));
}

TEST(Xyz, ColumnsStandWherePropertiesSays) {
  const XyzStart start =
      parsed("1\nProperties=id:I:1:pos:R:3:species:S:1:velo:R:3\n7 1 2 3 Na 0.1 0 0\n");
  EXPECT_EQ(start.system.r, (std::vector<double>{1, 2, 3}));
  EXPECT_NEAR(start.system.v[0], 1.0180505710759415, 1e-12);
}

TEST(Xyz, ErrorsNameFileLineAndField) {
  for (const char* const text : {"two\n\n", "", "0\n\n", "-2\n\n", "99999999999\n\n"})
    EXPECT_EQ(refusal_of(text), "start.xyz: line 1: the number of particles is missing");
  EXPECT_EQ(refusal_of("1\n\nK 0 0 0\n"),
            "start.xyz: line 3: species: \"K\" is neither Na nor Cl, the ions of NaCl");
  EXPECT_EQ(refusal_of("2\n\nNa 0 0 0\nCl 0 1,5 0\n"),
            "start.xyz: line 4: pos y: \"1,5\" is no number");
  for (const std::string text : {"nan", "inf", "1e999"}) {
    EXPECT_EQ(refusal_of("1\n\nNa 0 0 " + text + "\n"),
              "start.xyz: line 3: pos z: \"" + text + "\" is no number");
  }
  EXPECT_EQ(refusal_of("1\n\nNa 0 0\n"), "start.xyz: line 3: 4 fields wanted, 3 found");
  EXPECT_EQ(refusal_of("3\n\nNa 0 0 0\n"), "start.xyz: ends after 1 of 3 particles");
  EXPECT_EQ(refusal_of("1\nProperties=species:S:1:pos:R:3:velo:R:3\nNa 0 0 0 0 x 0\n"),
            "start.xyz: line 3: velo y: \"x\" is no number");
  EXPECT_EQ(refusal_of("1\nLattice=\"20 0 0 0 20 0 0 0\"\nNa 0 0 0\n"),
            "start.xyz: line 2: Lattice: 9 numbers wanted, 8 found");
  EXPECT_EQ(
      refusal_of("1\nLattice=\"20 0 0 0 25 0 0 0 20\"\nNa 0 0 0\n"),
      "start.xyz: line 2: Lattice: only a cube with its edges along x, y, z can be simulated");
  EXPECT_TRUE(contains(refusal_of("1\nLattice=\"0 0 0 0 0 0 0 0 0\"\nNa 0 0 0\n"), "only a cube"));
  EXPECT_EQ(refusal_of("1\nLattice=\"20 0 0\nNa 0 0 0\n"),
            "start.xyz: line 2: Lattice: the quotes do not end");
  EXPECT_EQ(refusal_of("1\nProperties=pos:R:3\nNa 0 0 0\n"),
            "start.xyz: line 2: Properties: no species:S:1");
  EXPECT_EQ(refusal_of("1\nProperties=species:S\nNa 0 0 0\n"),
            "start.xyz: line 2: Properties: \"species:S:\" is not name:type:columns");
}

TEST(Xyz, MoreThanOneFrameIsRefused) {
  const std::string frame = xyz_frame(rock_salt(nacl(), 2), 0);
  EXPECT_EQ(refusal_of(frame + frame),
            "start.xyz: line 5: more than the 2 particles of one frame; keep the frame to start "
            "from");
}

TEST(Xyz, APeriodicBoxNeedsALattice) {
  EXPECT_EQ(refusal_of("1\n\nNa 0 0 0\n", {.kind = BoundaryKind::dsf}),
            "start.xyz: line 2: Lattice: missing; a periodic box needs it");
}

TEST(Xyz, ACutoffBeyondHalfTheLatticeIsRefused) {
  EXPECT_TRUE(contains(refusal_of("1\nLattice=\"20 0 0 0 20 0 0 0 20\"\nNa 0 0 0\n",
                                  {.kind = BoundaryKind::dsf, .cutoff = 11e-10}),
                       "start.xyz: line 2: Lattice: the cut-off of 11.0"));
}

TEST(Xyz, AParticleOutsideTheBoxIsNamed) {
  EXPECT_TRUE(contains(refusal_of("2\nLattice=\"20 0 0 0 20 0 0 0 20\"\nNa 1 1 1\nCl 1 1 21\n"),
                       "start.xyz: particle 2 is outside the box"));
}

TEST(Xyz, AMissingFileIsNamed) {
  EXPECT_THROW(read_xyz("/nowhere/start.xyz", nacl(), open_box), support::InputError);
}

}  // namespace
}  // namespace gpucast::mdapp
