#include "physics/motion.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

namespace gpucast::mdapp {
namespace {

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

TEST(ExactSum, DoesNotDependOnTheOrder) {
  std::mt19937_64 random(1);
  for (int trial = 0; trial < 100; ++trial) {
    std::vector<double> terms = random_terms(random);
    const std::int64_t first = sum(terms);
    std::ranges::shuffle(terms, random);
    EXPECT_EQ(sum(terms), first);
  }
}

TEST(ExactSum, DoesNotDependOnHowTermsAreSharedOut) {
  std::mt19937_64 random(2);
  const std::vector<double> terms = random_terms(random);
  const std::int64_t whole = sum(terms);
  for (std::ptrdiff_t cut = 0; cut <= 500; cut += 50) {
    const std::vector<double> left(terms.begin(), terms.begin() + cut);
    const std::vector<double> right(terms.begin() + cut, terms.end());
    EXPECT_EQ(sum(left) + sum(right), whole);
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
