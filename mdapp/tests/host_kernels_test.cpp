#include "kernels/host/host_kernels.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "app/force_error.h"
#include "engine/engine.h"
#include "physics/integrator.h"
#include "physics/reference.h"
#include "physics/start.h"
#include "same_bits.h"
#include "schedule/stepper.h"

namespace gpucast::mdapp::host {
namespace {

using test::same_bits;

constexpr BoundaryKind all_kinds[] = {BoundaryKind::open, BoundaryKind::dsf,
                                      BoundaryKind::minimum_image};

struct Kernel {
  std::string name;
  void (*run)(const ForceArguments&);
};

std::vector<Kernel> kernels() {
  std::vector<Kernel> all{{"claret", claret}};
  for (const InstructionSet& set : instruction_sets())
    all.push_back({std::string("tuned ") + set.name, set.tuned});
  return all;
}

struct Result {
  std::vector<Force> forces;
  std::vector<PairSums> sums;
};

constexpr float untouched = 12345;

// Of one share, with elements behind it that are nobody's.
Result compute(const Kernel& kernel, const System& system, Share share, bool with_sums = true) {
  std::vector<Position> positions(static_cast<std::size_t>(system.n()));
  pack(system, {0, system.n()}, positions);
  const auto size = static_cast<std::size_t>(share.count) + 16;
  Result result{.forces = std::vector<Force>(size, {untouched, untouched, untouched}),
                .sums = std::vector<PairSums>(size, {untouched, untouched})};
  kernel.run({.positions = positions.data(),
              .forces = result.forces.data(),
              .sums = with_sums ? result.sums.data() : nullptr,
              .n = system.n(),
              .cations = system.cations,
              .share = share,
              .field = force_field<float>(system.salt, system.boundary),
              .boundary = system.boundary.kind});
  return result;
}

Result compute(const Kernel& kernel, const System& system) {
  Result result = compute(kernel, system, {0, system.n()});
  result.forces.resize(static_cast<std::size_t>(system.n()));
  result.sums.resize(static_cast<std::size_t>(system.n()));
  return result;
}

System displaced(const Salt& salt, int n, BoundaryKind kind, double amplitude) {
  System system = rock_salt(salt, n, {.kind = kind});
  displace(system, amplitude, static_cast<std::uint64_t>(n));
  return system;
}

System melt(const Salt& salt, int n, BoundaryKind kind) {
  const auto engine = host_engine(1);
  System system = rock_salt(salt, n, {.kind = kind});
  set_velocities(system, 3000, 1);
  const auto stepper = make_stepper(*engine, system, {}, {.kernel = {.name = KernelName::tuned}});
  stepper->steps(200);
  return stepper->system();
}

void expect_accurate(const System& system) {
  for (const Kernel& kernel : kernels()) {
    const ForceError error = force_error(system, compute(kernel, system).forces, 2);
    const std::string where = kernel.name + " " + std::string(system.salt.name) + " " +
                              std::string(name(system.boundary.kind)) +
                              " n=" + std::to_string(system.n());
    EXPECT_LE(error.rms, 1e-5) << where;
    EXPECT_LE(error.largest, 1e-4) << where;
    EXPECT_LE(error.sum, 1e-6) << where;
  }
}

TEST(HostKernels, ComputeForcesOfDisplacedLatticesAsInDoublePrecision) {
  for (const Salt& salt : {nacl(), kcl()}) {
    for (const BoundaryKind kind : all_kinds) {
      for (const int n : {8, 216, 997}) {
        expect_accurate(displaced(salt, n, kind, 0.5));
        // With its cut-off at half a side of 8 particles, dsf leaves a hundredth of the forces that
        // cancel.
        if (n > 8 || kind != BoundaryKind::dsf) expect_accurate(displaced(salt, n, kind, 0.1));
      }
    }
  }
}

TEST(HostKernels, ComputeForcesOfLargerLatticesAsInDoublePrecision) {
  expect_accurate(displaced(nacl(), 1000, BoundaryKind::open, 0.3));
  expect_accurate(displaced(kcl(), 1234, BoundaryKind::dsf, 0.3));
  expect_accurate(displaced(nacl(), 1234, BoundaryKind::minimum_image, 0.3));
  expect_accurate(displaced(nacl(), 4096, BoundaryKind::open, 0.5));
}

TEST(HostKernels, ComputeForcesOfMeltsAsInDoublePrecision) {
  for (const Salt& salt : {nacl(), kcl()}) {
    for (const BoundaryKind kind : {BoundaryKind::open, BoundaryKind::dsf})
      expect_accurate(melt(salt, 216, kind));
  }
}

TEST(HostKernels, ComputeEnergyAndVirialAsInDoublePrecision) {
  for (const BoundaryKind kind : all_kinds) {
    const System system = displaced(nacl(), 1000, kind, 0.3);
    const Potential exact = reference_forces_at_float(system, 2).potential;
    for (const Kernel& kernel : kernels()) {
      const Potential found = sum_of(system, compute(kernel, system).sums);
      const std::string where = kernel.name + " " + std::string(name(kind));
      // Of -4 eV an ion; minimum image jumps where a pair is half a side apart.
      EXPECT_NEAR(found.energy / 1000, exact.energy / 1000, 1e-5) << where;
      EXPECT_NEAR(found.virial / 1000, exact.virial / 1000, 1e-4) << where;
    }
  }
}

TEST(HostKernels, GiveAParticleTheSameBitsInWhateverShareItIs) {
  for (const Kernel& kernel : kernels()) {
    for (const BoundaryKind kind : all_kinds) {
      for (const int n : {8, 234, 331}) {
        const System system = displaced(nacl(), n, kind, 0.3);
        const Result whole = compute(kernel, system);
        for (const int parts : {2, 3, 4, 7}) {
          for (int part = 0; part < parts; ++part) {
            const Share share = share_of(n, parts, part);
            const Result own = compute(kernel, system, share);
            for (int k = 0; k < share.count; ++k) {
              const auto in_share = static_cast<std::size_t>(k);
              const auto in_whole = static_cast<std::size_t>(share.first) + in_share;
              ASSERT_TRUE(same_bits(own.forces[in_share], whole.forces[in_whole]))
                  << kernel.name << " " << name(kind) << " n=" << n << " particle " << in_whole
                  << " in part " << part << " of " << parts;
              ASSERT_TRUE(same_bits(own.sums[in_share], whole.sums[in_whole]));
            }
          }
        }
      }
    }
  }
}

TEST(HostKernels, GiveTheSameForcesWithAndWithoutEnergies) {
  for (const Kernel& kernel : kernels()) {
    for (const BoundaryKind kind : all_kinds) {
      const System system = displaced(kcl(), 216, kind, 0.3);
      const Result with = compute(kernel, system, {0, 216}, true);
      const Result without = compute(kernel, system, {0, 216}, false);
      for (std::size_t k = 0; k < 216; ++k)
        ASSERT_TRUE(same_bits(with.forces[k], without.forces[k])) << kernel.name;
    }
  }
}

TEST(HostKernels, WriteNothingBehindTheShare) {
  for (const Kernel& kernel : kernels()) {
    const System system = displaced(nacl(), 100, BoundaryKind::open, 0.3);
    for (const Share share :
         {Share{0, 0}, Share{37, 1}, Share{45, 9}, Share{99, 1}, Share{100, 0}}) {
      const Result result = compute(kernel, system, share);
      for (auto k = static_cast<std::size_t>(share.count); k < result.forces.size(); ++k) {
        EXPECT_EQ(result.forces[k].x, untouched) << kernel.name;
        EXPECT_EQ(result.sums[k].energy, untouched) << kernel.name;
      }
      for (std::size_t k = 0; k < static_cast<std::size_t>(share.count); ++k)
        EXPECT_NE(result.forces[k].x, untouched) << kernel.name;
    }
  }
}

TEST(HostKernels, NeverHideParticlesAtTheSamePlace) {
  for (const Kernel& kernel : kernels()) {
    for (const BoundaryKind kind : all_kinds) {
      for (const double apart : {0.0, 1e-30, 1e-6, 0.05}) {
        System system = displaced(nacl(), 100, kind, 0.1);
        // Neighbours in one register, and two of different types.
        for (const auto& [i, j] : {std::pair<std::size_t, std::size_t>{2, 3}, {5, 77}}) {
          for (std::size_t a = 0; a < 3; ++a)
            system.r[3 * j + a] = system.r[3 * i + a];
          system.r[3 * j] += apart;
        }
        const Result result = compute(kernel, system);
        for (const std::size_t k : {2U, 3U, 5U, 77U}) {
          const Force& f = result.forces[k];
          EXPECT_FALSE(sound(f.x) && sound(f.y) && sound(f.z))
              << kernel.name << " " << name(kind) << " particle " << k << " " << apart;
        }
        EXPECT_TRUE(sound(result.forces[50].x)) << kernel.name;
      }
    }
  }
}

TEST(HostKernels, ComputeWithParticlesOfOneTypeOnly) {
  const System one = rock_salt(nacl(), 1);
  const System anions = from_positions(nacl(), {}, {0, 0, 0, 3, 0, 0}, {1, 1});
  const double expected = reference_forces_at_float(anions).force[0];
  for (const Kernel& kernel : kernels()) {
    EXPECT_EQ(compute(kernel, one).forces[0].x, 0) << kernel.name;
    EXPECT_NEAR(compute(kernel, anions).forces[0].x, expected, 1e-6) << kernel.name;
  }
}

TEST(HostKernels, ComputeParticlesFarApartWithoutRepulsion) {
  // 400 angstrom: the repulsion is 2^-1800, which no float holds.
  const System far = from_positions(nacl(), {}, {-200, 0, 0, 200, 0, 0}, {0, 1});
  const double expected = reference_forces_at_float(far).force[0];
  for (const Kernel& kernel : kernels()) {
    EXPECT_NEAR(compute(kernel, far).forces[0].x / expected, 1, 1e-6) << kernel.name;
  }
}

}  // namespace
}  // namespace gpucast::mdapp::host
