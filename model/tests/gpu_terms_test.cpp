#include "gpucast/model/terms.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <string_view>

namespace gpucast::model {
namespace {

double wave_time(double t_gpu, double n, double gpus, int k, double cores) {
  return Wave::seconds(&t_gpu, {n, gpus}, {.machine = {.cores = cores}, .integer = k});
}

TEST(Wave, IsThePapersEquationOneForAGtx780) {
  // 64000 particles on 4 GPUs of 4 x 2304 threads: 64000 / 36864 = 1.74, so two waves.
  // 2 * 64000 * 9216 * 2.5e-11 s = 29.4912 ms.
  EXPECT_NEAR(wave_time(2.5e-11, 64000, 4, 4, 2304), 29.4912e-3, 1e-15);
}

TEST(Wave, AFullWaveIsOneWaveAndOneParticleMoreIsTwo) {
  // k c N = 2 * 100 * 3 = 600 particles at once; a wave takes n k c t_gpu.
  EXPECT_DOUBLE_EQ(wave_time(1e-10, 600, 3, 2, 100), 600 * 200 * 1e-10);
  EXPECT_DOUBLE_EQ(wave_time(1e-10, 601, 3, 2, 100), 2 * 601 * 200 * 1e-10);
}

TEST(Wave, CountsWavesAsIntegersDoAtEveryBoundary) {
  for (const int k : {1, 3, 7, 16}) {
    for (const long long cores : {100, 2304, 16896}) {
      for (long long gpus = 1; gpus <= 8; ++gpus) {
        const long long threads = k * cores * gpus;
        for (const long long waves : {1, 2, 3, 10, 1000}) {
          for (const long long beyond : {-1, 0, 1}) {
            const long long n = waves * threads + beyond;
            const long long counted = (n + threads - 1) / threads;
            const auto expected = static_cast<double>(counted * n) * static_cast<double>(k * cores);
            EXPECT_DOUBLE_EQ(wave_time(1.0, static_cast<double>(n), static_cast<double>(gpus), k,
                                       static_cast<double>(cores)),
                             expected)
                << "n " << n << ", k " << k << ", cores " << cores << ", gpus " << gpus;
          }
        }
      }
    }
  }
}

constexpr Machine ten_multiprocessors{.cores = 1280, .sms = 10, .block = 256};

double occupancy(double t_0, double t_lat, double t_blk, double n, double gpus, double p) {
  const double parameter[] = {t_0, t_lat, t_blk, p};
  return Occupancy::seconds(parameter, {n, gpus}, {ten_multiprocessors});
}

TEST(Occupancy, StepsUpWithTheBlockThatFindsEveryMultiprocessorTaken) {
  // 2 GPUs x 10 multiprocessors x 256 threads = 5120 particles in one round of blocks. p = 1 adds.
  EXPECT_NEAR(occupancy(1e-5, 2e-9, 3e-9, 5120, 2, 1), 1e-5 + 5120 * 5e-9, 1e-18);
  EXPECT_NEAR(occupancy(1e-5, 2e-9, 3e-9, 5121, 2, 1), 1e-5 + 5121 * 8e-9, 1e-18);
}

TEST(Occupancy, AStartedBlockIsAWholeBlock) {
  // 257 particles are two blocks, on two multiprocessors: still one block on the busiest.
  EXPECT_NEAR(occupancy(0, 2e-9, 3e-9, 257, 1, 1), 257 * 5e-9, 1e-20);
  // 2561 particles are eleven blocks: two on the busiest.
  EXPECT_NEAR(occupancy(0, 2e-9, 3e-9, 2561, 1, 1), 2561 * 8e-9, 1e-20);
}

TEST(Occupancy, JoinsTheRegimesAsAPNorm) {
  // sqrt(3^2 + 4^2) = 5; cube root of 3^3 + 4^3 = 91.
  EXPECT_NEAR(occupancy(0, 3e-9, 4e-9, 100, 1, 2), 100 * 5e-9, 1e-20);
  EXPECT_NEAR(occupancy(0, 3e-9, 4e-9, 100, 1, 3), 100 * std::cbrt(91.0) * 1e-9, 1e-20);
  EXPECT_NEAR(occupancy(0, 4e-9, 3e-9, 100, 1, 3), 100 * std::cbrt(91.0) * 1e-9, 1e-20);
  // p = 3/2 of 4 and 9: (8 + 27)^(2/3).
  EXPECT_NEAR(occupancy(0, 4e-9, 9e-9, 100, 1, 1.5), 100 * std::pow(35.0, 2.0 / 3) * 1e-9, 1e-20);
}

TEST(Occupancy, TakesExponentsFromOneToTwelve) {
  for (const double outside : {0.1, 0.999, 1.0})
    EXPECT_DOUBLE_EQ(occupancy(0, 5e-9, 2e-9, 1000, 1, outside), 1000 * 7e-9) << outside;
  for (const double outside : {12.0, 13.0, 1e6}) {
    EXPECT_DOUBLE_EQ(occupancy(0, 5e-9, 5e-9, 1000, 1, outside),
                     1000 * 5e-9 * std::pow(2.0, 1.0 / 12))
        << outside;
  }
}

TEST(Occupancy, ChangesLittleWithPAboutOne) {
  EXPECT_NEAR(occupancy(0, 5e-9, 2e-9, 1000, 1, 1 + 1e-9), 1000 * 7e-9, 1e-14);
}

TEST(Occupancy, IsNearlyTheSharpMaximumForLargeP) {
  // 5 (1 + 0.4^12)^(1/12) is 5 (1 + 1.4e-6).
  EXPECT_NEAR(occupancy(0, 5e-9, 2e-9, 1000, 1, 12), 1000 * 5e-9, 1e-11);
  EXPECT_NEAR(occupancy(0, 2e-9, 5e-9, 1000, 1, 12), 1000 * 5e-9, 1e-11);
}

TEST(Occupancy, NeverTakesLessThanItsLastSlopeNorMoreThanBlocksInTurn) {
  // The bounds by p = 1 and p = infinity through the times of one and two blocks.
  for (const double p : {1.0, 1.7, 2.5, 4.0, 12.0}) {
    const auto time_of = [p](double blocks) {
      const double n = 2560 * blocks;
      return occupancy(0, 3e-9, 2e-9, n, 1, p) / n;
    };
    for (const double blocks : {3.0, 5.0, 10.0}) {
      EXPECT_GE(time_of(blocks), time_of(2) + (blocks - 2) * (time_of(2) - time_of(1)) - 1e-22)
          << p;
      EXPECT_LE(time_of(blocks), time_of(2) * blocks / 2 + 1e-22) << p;
    }
  }
}

TEST(Occupancy, DoesNotCareWhichRegimeIsTheSlowerOne) {
  for (const double p : {1.0, 1.3, 2.0, 4.0, 8.0}) {
    for (const double ratio : {1e-6, 0.1, 0.999, 1.0}) {
      EXPECT_DOUBLE_EQ(occupancy(0, 1e-9, ratio * 1e-9, 500, 1, p),
                       occupancy(0, ratio * 1e-9, 1e-9, 500, 1, p))
          << "p " << p << ", ratio " << ratio;
    }
  }
}

TEST(Occupancy, LiesBetweenTheLargerTermAndTheSumAndFallsWithP) {
  const double larger = 300 * 5e-9;
  const double sum = 300 * 8e-9;
  double before = sum * (1 + 1e-12);
  for (const double p : {1.0, 1.2, 2.0, 2.5, 4.0, 8.0, 12.0}) {
    const double seconds = occupancy(0, 3e-9, 5e-9, 300, 1, p);
    EXPECT_GE(seconds, larger);
    EXPECT_LT(seconds, before);
    before = seconds;
  }
}

TEST(Occupancy, NeitherOverflowsNorUnderflows) {
  // The eighth power of each of these leaves the range of double.
  EXPECT_NEAR(occupancy(0, 1e-200, 1e-200, 1, 1, 8) / 1e-200, std::pow(2.0, 1.0 / 8), 1e-12);
  EXPECT_NEAR(occupancy(0, 1e200, 1e200, 1, 1, 8) / 1e200, std::pow(2.0, 1.0 / 8), 1e-12);
  EXPECT_DOUBLE_EQ(occupancy(0, 1e-200, 1e100, 1, 1, 8), 1e100);
  EXPECT_DOUBLE_EQ(occupancy(0, 1e100, 1e-200, 1, 1, 8), 1e100);
}

double work_time(double t_0, double t_pair, double n, double gpus, double t_root = 0) {
  const double parameter[] = {t_0, t_pair, t_root};
  return Work::seconds(parameter, {n, gpus}, {});
}

TEST(Work, TakesTheLargestShareTimesAllParticles) {
  // 10 particles on 3 GPUs: the largest share is 4, 40 interactions.
  EXPECT_DOUBLE_EQ(work_time(5e-6, 1e-9, 10, 3), 5e-6 + 40e-9);
  EXPECT_DOUBLE_EQ(work_time(5e-6, 1e-9, 9, 3), 5e-6 + 27e-9);
}

TEST(Work, AddsAPartThatGrowsWithTheRootOfTheInteractions) {
  // 100 particles on 4 GPUs: 25 * 100 = 2500 interactions, whose root is 50.
  EXPECT_DOUBLE_EQ(work_time(5e-6, 1e-9, 100, 4, 3e-8), 5e-6 + 2.5e-6 + 1.5e-6);
}

TEST(Work, HasARateThatGrowsToItsLimit) {
  double before = 0;
  for (const double n : {1e3, 1e4, 1e5, 1e6, 1e7}) {
    const double rate = n * n / work_time(5e-6, 1e-12, n, 1, 1e-8);
    EXPECT_GT(rate, before) << n;
    EXPECT_LT(rate, 1e12) << n;
    before = rate;
  }
  EXPECT_GT(before, 0.99e12);
}

TEST(GpuTerm, ReadsItsParametersInTheOrderItListsThem) {
  const double wave[] = {1e-10};
  const double occupancy_parameters[] = {1e-5, 3e-9, 4e-9, 2};
  const double work[] = {5e-6, 1e-9, 1e-7};
  EXPECT_DOUBLE_EQ(term_time(GpuTerm{Wave{}}, wave, {1281, 1}, {ten_multiprocessors}),
                   2 * 1281 * 1280 * 1e-10);
  EXPECT_NEAR(
      term_time(GpuTerm{Occupancy{}}, occupancy_parameters, {100, 1}, {ten_multiprocessors}),
      1e-5 + 100 * 5e-9, 1e-18);
  EXPECT_DOUBLE_EQ(term_time(GpuTerm{Work{}}, work, {9, 4}, {}),
                   5e-6 + 27e-9 + std::sqrt(27.0) * 1e-7);
}

TEST(GpuTerm, WithStructuralIntegerListsThoseToTry) {
  EXPECT_EQ(integers(Wave{}, 3), (std::vector<int>{1, 2, 3}));
  EXPECT_EQ(integers(Wave{}, 0), std::vector<int>{1});
  EXPECT_EQ(integers(Occupancy{}, 3), std::vector<int>{1});
  EXPECT_EQ(integers(Work{}, 3), std::vector<int>{1});
}

TEST(GpuTerm, IsLinearInItsParametersWhereItSaysSo) {
  // The time of a sum of parameters is the sum of times.
  for (const GpuTerm& term : all_gpu_terms) {
    const Structure structure{ten_multiprocessors, 1};
    const Step step{30000, 2};
    std::vector<double> one;
    std::vector<double> other;
    std::vector<double> both;
    for (std::size_t i = 0; i < parameters(term).size(); ++i) {
      const auto at = static_cast<double>(i);
      one.push_back(1 + at);
      other.push_back(4 - at / 2);
      both.push_back(one.back() + other.back());
    }
    const auto seconds = [&](const std::vector<double>& parameter) {
      return term_time(term, parameter.data(), step, structure);
    };
    const double sum = seconds(one) + seconds(other);
    EXPECT_EQ(std::abs(seconds(both) / sum - 1) < 1e-12, info(term).linear) << name(term);
  }
}

TEST(Parameters, ThatAreNumbersHaveAMedianToBeginWith) {
  const auto check = [](const std::vector<Parameter>& list, std::string_view term_name) {
    for (const Parameter& parameter : list) {
      EXPECT_GT(parameter.prior.log_sd, 0) << term_name << ", " << parameter.name;
      EXPECT_GE(parameter.prior.median, 0) << term_name << ", " << parameter.name;
      EXPECT_TRUE(parameter.prior.median > 0 || !parameter.is_ratio())
          << term_name << ", " << parameter.name;
    }
  };
  for (const GpuTerm& term : all_gpu_terms)
    check(parameters(term), name(term));
  for (const CpuTerm& term : all_cpu_terms)
    check(parameters(term), name(term));
  for (const ComTerm& term : all_com_terms)
    check(parameters(term), name(term));
}

TEST(Parameters, OfTheSameNameAreHeldEquallyPlausibleInEveryTerm) {
  std::map<std::string, Prior> known;
  const auto check = [&](const std::vector<Parameter>& list) {
    for (const Parameter& parameter : list) {
      EXPECT_EQ(known.try_emplace(parameter.name, parameter.prior).first->second, parameter.prior)
          << parameter.name;
    }
  };
  for (const GpuTerm& term : all_gpu_terms)
    check(parameters(term));
  for (const CpuTerm& term : all_cpu_terms)
    check(parameters(term));
  for (const ComTerm& term : all_com_terms)
    check(parameters(term));
}

TEST(GpuTerm, SaysWhichFactOfTheMachineIsMissing) {
  EXPECT_TRUE(missing_fact(GpuTerm{Wave{}}, {.cores = 2304}).empty());
  EXPECT_NE(missing_fact(GpuTerm{Wave{}}, {.sms = 12, .block = 256}).find("cores"),
            std::string::npos);
  EXPECT_TRUE(missing_fact(GpuTerm{Occupancy{}}, {.sms = 12, .block = 256}).empty());
  EXPECT_FALSE(missing_fact(GpuTerm{Occupancy{}}, {.cores = 2304, .block = 256}).empty());
  EXPECT_TRUE(missing_fact(GpuTerm{Work{}}, {}).empty());
  EXPECT_NE(missing_fact(GpuTerm{Occupancy{}}, {.cores = 2304, .sms = 12}).find("'occupancy'"),
            std::string::npos);
}

}  // namespace
}  // namespace gpucast::model
