// The division of particles among devices, and sums over them that do not depend on it.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

#include "physics/motion.h"

namespace gpucast::mdapp {
namespace {

TEST(Slice, SlicesLaidEndToEndAreAllParticlesAndNoneIsLargerThanTheFirst) {
  for (int n = 0; n <= 50; ++n) {
    for (int parts = 1; parts <= 9; ++parts) {
      int next = 0;
      int most = (n + parts - 1) / parts;
      EXPECT_EQ(slice_of(n, parts, 0).count, most);
      for (int part = 0; part < parts; ++part) {
        const Slice slice = slice_of(n, parts, part);
        EXPECT_EQ(slice.first, next) << n << " " << parts << " " << part;
        EXPECT_GE(slice.count, 0);
        EXPECT_LE(slice.count, most);
        most = slice.count;
        next += slice.count;
      }
      EXPECT_EQ(next, n) << n << " " << parts;
    }
  }
}

TEST(Slice, ManyParticlesAndPartsDoNotOverflow) {
  const Slice last = slice_of(2'000'000'000, 9, 8);
  EXPECT_EQ(last.first + last.count, 2'000'000'000);
}

std::vector<double> random_terms(std::mt19937_64& random) {
  std::uniform_real_distribution<double> exponent(-20, 10);
  std::bernoulli_distribution negative(0.5);
  std::vector<double> terms(500);
  for (double& term : terms)
    term = std::exp2(exponent(random)) * (negative(random) ? -1 : 1);
  return terms;
}

std::int64_t sum(const std::vector<double>& terms) {
  return std::accumulate(terms.begin(), terms.end(), std::int64_t{0},
                         [](std::int64_t so_far, double term) { return so_far + to_quanta(term); });
}

TEST(ExactSum, DoesNotDependOnTheOrderNorOnHowTermsAreSharedOut) {
  std::mt19937_64 random(1);
  std::vector<double> terms = random_terms(random);
  const std::int64_t whole = sum(terms);
  for (std::ptrdiff_t cut = 0; cut <= 500; cut += 5) {
    std::ranges::shuffle(terms, random);
    const auto border = terms.begin() + cut;
    EXPECT_EQ(sum({terms.begin(), border}) + sum({border, terms.end()}), whole);
  }
}

TEST(ExactSum, IsTheSumToAQuantumATerm) {
  std::mt19937_64 random(3);
  const std::vector<double> terms = random_terms(random);
  const double plain = std::accumulate(terms.begin(), terms.end(), 0.0);
  EXPECT_NEAR(from_quanta(sum(terms)), plain, 500 / quanta_per_unit);
}

TEST(ExactSum, AMillionTermsOfAThousandUnitsFit) {
  for (const double term : {1000.0, -1000.0}) {
    std::int64_t total = 0;
    EXPECT_FALSE(__builtin_mul_overflow(to_quanta(term), std::int64_t{1'000'000}, &total));
    EXPECT_EQ(from_quanta(total), term * 1e6);
  }
}

}  // namespace
}  // namespace gpucast::mdapp
