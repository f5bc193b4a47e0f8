#include "gpucast/model/terms.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <set>

namespace gpucast::model {
namespace {

// A straight line for each route, latency in seconds and throughput in bytes/second.
struct Lines {
  double L_h2d = 1e-5, B_h2d = 1e9;
  double L_d2h = 2e-5, B_d2h = 5e8;
  double L_other = 4e-6, B_other = 2e9;

  double operator()(Route route, double bytes) const {
    switch (route) {
      case Route::h2d:
        return L_h2d + bytes / B_h2d;
      case Route::d2h:
        return L_d2h + bytes / B_d2h;
      default:
        return L_other + bytes / B_other;
    }
  }
};

constexpr double t_kernel = 3e-6;
constexpr double B_host = 4e9;
constexpr double native[] = {t_kernel, B_host};

double seconds(const ComTerm& term, double n, double gpus) {
  return com_time(term, native, Lines{}, {n, gpus}, 0.0);
}

TEST(StarSerial, IsThePapersEquationThreeByHand) {
  // n = 1000, N = 2: (32 us + 20 us) + (24 us + 40 us) + 6 us = 122 us.
  EXPECT_NEAR(seconds(StarSerial{}, 1000, 2), 122e-6, 1e-18);
}

TEST(StarSerial, IsThePapersEquationThreeForAnySizeAndCount) {
  const Lines line;
  for (const double n : {1.0, 17.0, 1000.0, 65536.0, 1e6, 1e9}) {
    for (int count = 1; count <= 16; ++count) {
      const double gpus = count;
      const double paper = (16 * n * gpus / line.B_h2d + gpus * line.L_h2d) +
                           (12 * n / line.B_d2h + gpus * line.L_d2h) + t_kernel * gpus;
      EXPECT_NEAR(seconds(StarSerial{}, n, gpus) / paper, 1.0, 1e-14)
          << "n " << n << ", gpus " << gpus;
    }
  }
}

TEST(StarAsync, OverlapsLatenciesAndSharesTheHostSide) {
  // n = 1200, N = 3: h2d 10 + 19.2 us, d2h of 4800 bytes 20 + 9.6 us, two other GPUs' 24000 bytes
  // each at 4 GB/s 12 us, three launches 9 us.
  EXPECT_NEAR(seconds(StarAsync{}, 1200, 3), (29.2 + 29.6 + 12 + 9) * 1e-6, 1e-18);
}

TEST(StarAsync, HasNothingToShareOnOneGpu) {
  const double slow_host[] = {t_kernel, 1.0};
  EXPECT_DOUBLE_EQ(com_time(StarAsync{}, slow_host, Lines{}, {1e5, 1}, 0.0),
                   seconds(StarSerial{}, 1e5, 1));
}

TEST(Allgather, SendsEachShareRoundTheRing) {
  // n = 1200, N = 4: three rounds of 4800 bytes, 4 + 2.4 us each, and four launches.
  EXPECT_NEAR(seconds(Allgather{}, 1200, 4), (3 * 6.4 + 4 * 3) * 1e-6, 1e-18);
}

TEST(Allgather, IsOneLaunchOnOneGpu) { EXPECT_DOUBLE_EQ(seconds(Allgather{}, 1e6, 1), t_kernel); }

TEST(Mpi, CopiesAndLaunchesSideBySideAndSendsOverTheNetwork) {
  // n = 1200, N = 4: h2d 29.2 us, d2h of 3600 bytes 27.2 us, one launch, three rounds of 6.4 us.
  EXPECT_NEAR(seconds(Mpi{}, 1200, 4), (29.2 + 27.2 + 3 + 19.2) * 1e-6, 1e-18);
}

TEST(Mpi, IsStarSerialOnOneGpu) {
  EXPECT_DOUBLE_EQ(seconds(Mpi{}, 1e5, 1), seconds(StarSerial{}, 1e5, 1));
}

constexpr double t_queue = 2e-6;
constexpr double poll_tick = 8.192e-6;
constexpr double lead = 2.5e-6;

// Parameters of each term in the order that it lists them; ratios are 1 but where they are given.
std::vector<double> values(const ComTerm& term, double s_next = 1) {
  std::vector<double> result;
  for (const Parameter& own : parameters(term)) {
    result.push_back(own.name == "t_kernel" ? t_kernel
                     : own.name == "B_host" ? B_host
                     : own.is_ratio()       ? s_next
                                            : t_queue);
  }
  return result;
}

double beside(const ComTerm& term, double n, double gpus, double t_gpu, double s_next = 1,
              bool linear = false) {
  return com_time(term, values(term, s_next).data(), Lines{}, {n, gpus}, t_gpu, linear);
}

TEST(StarSerialPoll, WaitsForTheTickAfterTheFirstGpusEndByHand) {
  // n = 1000, N = 2: copies 26 + 32 us twice, two launches, of which one has passed before the
  // wait; 10.5 ticks of 91.516 us are left then, and seen at the 11th.
  const double t_gpu = t_kernel + lead + 10.5 * poll_tick;
  EXPECT_NEAR(beside(StarSerialPoll{}, 1000, 2, t_gpu), 2 * 58e-6 + 6e-6 + 11 * poll_tick - t_gpu,
              1e-16);
}

TEST(StarSerialPoll, HidesAShareOfTheFurtherCopies) {
  const double t_gpu = 2 * t_kernel + lead + 4.5 * poll_tick;
  EXPECT_NEAR(beside(StarSerialPoll{}, 1000, 3, t_gpu, 0.25),
              1.5 * (26e-6 + 28e-6) + 9e-6 + 5 * poll_tick - t_gpu, 1e-16);
}

TEST(StarSerialPoll, OfLongKernelsIsStarSerialLessWhatTheyHideAndHalfATick) {
  for (const double n : {1000.0, 64000.0}) {
    for (const double gpus : {1.0, 2.0, 8.0}) {
      EXPECT_NEAR(beside(StarSerialPoll{}, n, gpus, 5e-3),
                  seconds(StarSerial{}, n, gpus) - (gpus - 1) * t_kernel - lead + poll_tick / 2,
                  0.01 * poll_tick)
          << n << ", " << gpus;
    }
  }
}

TEST(StarSerialPoll, NeverWaitsForKernelsThatEndBeforeItLooks) {
  // Eight launches take longer than such a kernel: the step is the copies and the launches.
  const double t_gpu = 20e-6;
  EXPECT_NEAR(beside(StarSerialPoll{}, 1000, 8, t_gpu) + t_gpu, seconds(StarSerial{}, 1000, 8),
              1e-16);
}

TEST(StarAsyncPoll, QueuesEachGpusStepAndWaitsForATickByHand) {
  // n = 1200, N = 3: as star-async, three times t_queue more; 4.5 ticks are seen at the 5th.
  const double t_gpu = lead + 4.5 * poll_tick;
  EXPECT_NEAR(beside(StarAsyncPoll{}, 1200, 3, t_gpu),
              (29.2 + 29.6 + 12 + 9 + 6) * 1e-6 + 5 * poll_tick - t_gpu, 1e-16);
}

TEST(StarAsyncPoll, OfLongKernelsIsStarAsyncWithQueueingAndHalfATick) {
  EXPECT_NEAR(beside(StarAsyncPoll{}, 64000, 4, 5e-3),
              seconds(StarAsync{}, 64000, 4) + 4 * t_queue - lead + poll_tick / 2,
              0.01 * poll_tick);
}

TEST(StarAsyncTurns, OnOneGpuIsStarSerial) {
  EXPECT_DOUBLE_EQ(beside(StarAsyncTurns{}, 1e5, 1, 1e-3), seconds(StarSerial{}, 1e5, 1));
}

TEST(StarAsyncTurns, ComputesOnOneGpuAfterAnother) {
  EXPECT_NEAR(beside(StarAsyncTurns{}, 1000, 3, 1e-3), seconds(StarSerial{}, 1000, 3) + 2e-3,
              1e-15);
}

TEST(AllgatherQueue, OfLongKernelsIsOneTransferWithOneLatency) {
  // n = 1200, N = 4: 3/4 of 19200 bytes are 4 + 7.2 us. The queue of 20 us is hidden.
  EXPECT_NEAR(beside(AllgatherQueue{}, 1200, 4, 1e-3), 11.2e-6, 1e-12);
}

TEST(AllgatherQueue, OfShortKernelsIsWhatTheHostNeedsToQueueThem) {
  EXPECT_NEAR(beside(AllgatherQueue{}, 1200, 4, 1e-7) + 1e-7, 20e-6, 0.03e-6);
}

TEST(AllgatherQueue, JoinsTheTwoAsAnEighthNorm) {
  // 8.8 + 11.2 us beside 20 us.
  EXPECT_NEAR(beside(AllgatherQueue{}, 1200, 4, 8.8e-6), 20e-6 * std::pow(2.0, 1.0 / 8) - 8.8e-6,
              1e-16);
}

TEST(AllgatherQueue, OnOneGpuQueuesALaunchAndSendsNothing) {
  EXPECT_NEAR(beside(AllgatherQueue{}, 1e6, 1, 1e-3), 0, 1e-12);
  EXPECT_NEAR(beside(AllgatherQueue{}, 1e6, 1, 3e-6), 3e-6 * (std::pow(2.0, 0.125) - 1), 1e-16);
}

TEST(StarSerialHide, OfLongKernelsIsStarSerialLessTheLaunchesThatTheyHide) {
  // All launches but the first pass while the first GPU computes.
  for (const double gpus : {1.0, 2.0, 8.0}) {
    EXPECT_NEAR(beside(StarSerialHide{}, 1000, gpus, 5e-3),
                seconds(StarSerial{}, 1000, gpus) - (gpus - 1) * t_kernel, 1e-15)
        << gpus;
  }
}

TEST(StarSerialHide, HidesShortKernelsBehindTheLaunchesOfTheOtherGpus) {
  // Seven launches of 3 us take 18 us longer than such a kernel, which then costs nothing.
  EXPECT_NEAR(beside(StarSerialHide{}, 1000, 8, 3e-6) + 3e-6, seconds(StarSerial{}, 1000, 8),
              1e-13);
}

TEST(StarSerialHide, CountsAShareOfTheFurtherCopies) {
  // n = 1000, N = 3: copies of 26 + 28 us for the first, a quarter of that for each other.
  EXPECT_NEAR(beside(StarSerialHide{}, 1000, 3, 1e-3, 0.25), 1.5 * 54e-6 + 3e-6, 1e-15);
}

TEST(LeftOver, IsTheLargerOfNothingAndTimeWithinAMicrosecond) {
  EXPECT_DOUBLE_EQ(left_over(0.0), 1e-6 * std::log(2.0));
  double before = 0;
  for (const double x : {-1e-3, -1e-5, -1e-6, -1e-9, 0.0, 1e-9, 1e-6, 1e-5, 1e-3, 1.0}) {
    const double left = left_over(x);
    EXPECT_GE(left, std::max(x, 0.0)) << x;
    EXPECT_LE(left, std::max(x, 0.0) + 0.7e-6) << x;
    EXPECT_GE(left, before) << x;
    before = left;
  }
}

TEST(StarAsyncQueue, IsStarAsyncWithAQueueingTimeForEachGpu) {
  for (const double gpus : {1.0, 3.0, 8.0}) {
    EXPECT_NEAR(beside(StarAsyncQueue{}, 1200, gpus, 1e-4),
                seconds(StarAsync{}, 1200, gpus) + gpus * t_queue, 1e-18)
        << gpus;
  }
}

TEST(AllgatherOnce, CountsOneLatencyForAllRounds) {
  // n = 1200, N = 4: 3/4 of 19200 bytes are 4 + 7.2 us, and four launches.
  EXPECT_NEAR(beside(AllgatherOnce{}, 1200, 4, 1e-3), (11.2 + 12) * 1e-6, 1e-18);
}

TEST(AllgatherOnce, OfUpToTwoGpusIsAllgather) {
  for (const double gpus : {1.0, 2.0})
    EXPECT_DOUBLE_EQ(beside(AllgatherOnce{}, 1e6, gpus, 1e-3), seconds(Allgather{}, 1e6, gpus));
}

TEST(SlowerOf, LiesBetweenTheSlowerAndNinePercentMore) {
  for (const double other : {1e-9, 0.5, 0.99, 1.0}) {
    EXPECT_DOUBLE_EQ(slower_of(1.0, other), slower_of(other, 1.0));
    EXPECT_GE(slower_of(1.0, other), 1.0);
    EXPECT_LE(slower_of(1.0, other), 1.0906);
  }
  EXPECT_DOUBLE_EQ(slower_of(1.0, 0.1), 1.0 + 1.25e-9);
}

TEST(ComTerm, WithoutTicksIsLinearInTheTimesThatMakeIt) {
  // All times doubled (and the throughput halved, a time per byte): T_com is doubled.
  Lines twice;
  twice.L_h2d *= 2, twice.L_d2h *= 2, twice.L_other *= 2;
  twice.B_h2d /= 2, twice.B_d2h /= 2, twice.B_other /= 2;
  for (const ComTerm& term : all_com_terms) {
    std::vector<double> doubled = values(term);
    const std::vector<Parameter> list = parameters(term);
    for (std::size_t i = 0; i < list.size(); ++i)
      doubled[i] *= list[i].is_ratio() ? 1 : list[i].reciprocal ? 0.5 : 2;
    for (const double gpus : {1.0, 3.0}) {
      EXPECT_NEAR(com_time(term, doubled.data(), twice, {1000, gpus}, 8e-5, true),
                  2 * beside(term, 1000, gpus, 4e-5, 1, true), 1e-16)
          << name(term);
    }
  }
}

TEST(ComTerm, TellsARatioFromATime) {
  for (const ComTerm& term : all_com_terms) {
    for (const Parameter& parameter : parameters(term)) {
      EXPECT_EQ(parameter.is_ratio(), parameter.name == "s_next")
          << name(term) << ", " << parameter.name;
    }
  }
}

TEST(ComTerm, ListsExactlyTheRoutesThatItUses) {
  for (const ComTerm& term : all_com_terms) {
    std::set<Route> used;
    const auto recording = [&](Route route, double bytes) {
      used.insert(route);
      return Lines{}(route, bytes);
    };
    com_time(term, values(term).data(), recording, {1000, 3}, 0.0);
    const auto listed = routes(term);
    EXPECT_EQ(used, std::set<Route>(listed.begin(), listed.end()));
    EXPECT_EQ(listed.size(), used.size());
  }
}

}  // namespace
}  // namespace gpucast::model
