// The host's force kernels against forces in double precision at the same positions.

#include "common.h"
#include "kernels/host/vector_kernel.h"
#include "physics/integrator.h"
#include "physics/reference.h"

namespace gpucast::mdapp {
namespace {

using test::all_surroundings;
using test::shaken;

struct Kernel {
  std::string name;
  void (*run)(const ForceArguments&);
};

// All kernels that this processor supports.
std::vector<Kernel> kernels() {
  std::vector<Kernel> all = {{"claret", host::claret}, {"generic", host::tuned_generic}};
  for (const host::InstructionSet& set : host::instruction_sets())
    all.push_back({set.name, set.tuned});
  return all;
}

struct Forces {
  std::vector<Force> forces;
  std::vector<PairSums> sums;  // empty if not requested
};

// Forces computed in `parts` calls, one for each slice.
Forces computed(const Kernel& kernel, const System& system, bool with_sums, int parts = 1) {
  const auto n = static_cast<std::size_t>(system.n());
  std::vector<Position> positions(n);
  pack(system, {0, system.n()}, positions);
  Forces result{.forces = std::vector<Force>(n), .sums = std::vector<PairSums>(with_sums ? n : 0)};
  for (int part = 0; part < parts; ++part) {
    const Slice slice = slice_of(system.n(), parts, part);
    kernel.run({.positions = positions.data(),
                .forces = result.forces.data() + slice.first,
                .sums = with_sums ? result.sums.data() + slice.first : nullptr,
                .n = system.n(),
                .cations = system.cations,
                .slice = slice,
                .field = force_field<float>(system.salt, system.boundary),
                .boundary = system.boundary.kind});
  }
  return result;
}

std::vector<double> components(const std::vector<Force>& forces) {
  std::vector<double> result;
  for (const Force& f : forces)
    result.insert(result.end(), {f.x, f.y, f.z});
  return result;
}

// Errors of the forces relative to their root mean square.
struct Errors {
  double rms = 0;
  double max = 0;
};

Errors errors(const std::vector<double>& computed, const std::vector<double>& exact) {
  double wrong = 0;
  double right = 0;
  double largest = 0;
  const double particles = static_cast<double>(exact.size()) / 3;
  for (std::size_t k = 0; k < exact.size(); k += 3) {
    double own = 0;
    for (std::size_t a = k; a < k + 3; ++a) {
      own += std::pow(computed[a] - exact[a], 2);
      right += exact[a] * exact[a];
    }
    wrong += own;
    largest = std::max(largest, own);
  }
  return {.rms = std::sqrt(wrong / right), .max = std::sqrt(largest / right * particles)};
}

// Forces, with and without energies; energy and virial relative to the energy, since the virial is
// a small difference of terms of that size.
void expect_sums_of_the_reference(const System& system) {
  const ReferenceForces exact = reference_forces_at_float(system, 2);
  const double scale = std::abs(exact.potential.energy);
  for (const Kernel& kernel : kernels()) {
    for (const bool with_sums : {false, true}) {
      const Forces result = computed(kernel, system, with_sums);
      const Errors error = errors(components(result.forces), exact.force);
      EXPECT_LE(error.rms, 1e-5) << kernel.name;
      EXPECT_LE(error.max, 1e-4) << kernel.name;
      if (!with_sums) continue;
      const Potential sums = sum_of(system, result.sums);
      EXPECT_NEAR(sums.energy, exact.potential.energy, 1e-6 * scale) << kernel.name;
      EXPECT_NEAR(sums.virial, exact.potential.virial, 1e-5 * scale) << kernel.name;
    }
  }
}

TEST(HostKernels, SumsAreThoseOfTheReference) {
  for (const Surroundings& around : all_surroundings) {
    for (const Salt& salt : {nacl(), kcl()}) {
      for (const int n : {8, 216, 997, 1000, 1234}) {
        SCOPED_TRACE(std::string(salt.name) + " " + std::string(schema::name(around.kind)) + " " +
                     std::to_string(n));
        expect_sums_of_the_reference(shaken(salt, n, around));
      }
    }
  }
}

TEST(HostKernels, SumsAreThoseOfTheReferenceInALargeSystem) {
  expect_sums_of_the_reference(shaken(nacl(), 4096));
}

TEST(HostKernels, NothingActsOnASingleParticle) {
  const System system = shaken(nacl(), 1);
  for (const Kernel& kernel : kernels()) {
    const Forces result = computed(kernel, system, true);
    EXPECT_EQ(components(result.forces), std::vector<double>(3)) << kernel.name;
    EXPECT_EQ(result.sums[0].energy, 0) << kernel.name;
    EXPECT_EQ(result.sums[0].virial, 0) << kernel.name;
  }
}

TEST(HostKernels, ForcesOfAllParticlesAddUpToNothing) {
  for (const Surroundings& around : all_surroundings) {
    const System system = shaken(nacl(), 1000, around);
    for (const Kernel& kernel : kernels()) {
      double sum[3] = {};
      double sizes = 0;
      for (const Force& f : computed(kernel, system, false).forces) {
        sum[0] += f.x;
        sum[1] += f.y;
        sum[2] += f.z;
        sizes += std::hypot(f.x, f.y, f.z);
      }
      EXPECT_LE(std::hypot(sum[0], sum[1], sum[2]) / sizes, 1e-6)
          << kernel.name << " " << schema::name(around.kind);
    }
  }
}

TEST(HostKernels, EachParticleGetsItsOwnEnergy) {
  const System system = shaken(nacl(), 97);
  const ReferenceForces exact = reference_forces_at_float(system);
  for (const Kernel& kernel : kernels()) {
    const Forces result = computed(kernel, system, true);
    for (std::size_t k = 0; k < 97; ++k)
      EXPECT_NEAR(result.sums[k].energy, exact.energy[k], 1e-4) << kernel.name;
  }
}

TEST(HostKernels, AParticlesForceDoesNotDependOnHowTheParticlesAreSharedOut) {
  for (const Surroundings& around : all_surroundings) {
    const System system = shaken(nacl(), 211, around);
    for (const Kernel& kernel : kernels()) {
      const auto whole = components(computed(kernel, system, false).forces);
      for (const int parts : {2, 3, 5, 211}) {
        EXPECT_EQ(components(computed(kernel, system, false, parts).forces), whole)
            << kernel.name << " " << parts;
      }
    }
  }
}

TEST(HostKernels, TunedIsTheBestForThisProcessor) {
  const System system = shaken(nacl(), 216);
  const host::InstructionSet best = host::instruction_sets().front();
  EXPECT_EQ(components(computed({"tuned", host::tuned}, system, false).forces),
            components(computed({best.name, best.tuned}, system, false).forces));
}

}  // namespace
}  // namespace gpucast::mdapp
