#include "gpucast/model/com_terms.h"

#include <gtest/gtest.h>

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
constexpr double parameter[] = {t_kernel, B_host};

double seconds(ComTerm term, double n, double gpus) {
  return com_time(term, parameter, Lines{}, n, gpus, 0.0);
}

TEST(StarSerial, IsThePapersEquationThreeByHand) {
  // n = 1000, N = 2: (32 us + 20 us) + (24 us + 40 us) + 6 us = 122 us.
  EXPECT_NEAR(seconds(ComTerm::star_serial, 1000, 2), 122e-6, 1e-18);
}

TEST(StarSerial, IsThePapersEquationThreeForAnySizeAndCount) {
  const Lines line;
  for (const double n : {1.0, 17.0, 1000.0, 65536.0, 1e6, 1e9}) {
    for (int count = 1; count <= 16; ++count) {
      const double gpus = count;
      const double paper = (16 * n * gpus / line.B_h2d + gpus * line.L_h2d) +
                           (12 * n / line.B_d2h + gpus * line.L_d2h) + t_kernel * gpus;
      EXPECT_NEAR(seconds(ComTerm::star_serial, n, gpus) / paper, 1.0, 1e-14)
          << "n " << n << ", gpus " << gpus;
    }
  }
}

TEST(StarAsync, OverlapsLatenciesAndSharesTheHostSide) {
  // n = 1200, N = 3: h2d 10 + 19.2 us, d2h of 4800 bytes 20 + 9.6 us, two other GPUs' 24000 bytes
  // each at 4 GB/s 12 us, three launches 9 us.
  EXPECT_NEAR(seconds(ComTerm::star_async, 1200, 3), (29.2 + 29.6 + 12 + 9) * 1e-6, 1e-18);
}

TEST(StarAsync, HasNothingToShareOnOneGpu) {
  const double slow_host[] = {t_kernel, 1.0};
  EXPECT_DOUBLE_EQ(com_time(ComTerm::star_async, slow_host, Lines{}, 1e5, 1, 0.0),
                   seconds(ComTerm::star_serial, 1e5, 1));
}

TEST(Allgather, SendsEachShareRoundTheRing) {
  // n = 1200, N = 4: three rounds of 4800 bytes, 4 + 2.4 us each, and four launches.
  EXPECT_NEAR(seconds(ComTerm::allgather, 1200, 4), (3 * 6.4 + 4 * 3) * 1e-6, 1e-18);
}

TEST(Allgather, IsOneLaunchOnOneGpu) {
  EXPECT_DOUBLE_EQ(seconds(ComTerm::allgather, 1e6, 1), t_kernel);
}

TEST(Mpi, CopiesAndLaunchesSideBySideAndSendsOverTheNetwork) {
  // n = 1200, N = 4: h2d 29.2 us, d2h of 3600 bytes 27.2 us, one launch, three rounds of 6.4 us.
  EXPECT_NEAR(seconds(ComTerm::mpi, 1200, 4), (29.2 + 27.2 + 3 + 19.2) * 1e-6, 1e-18);
}

TEST(Mpi, IsStarSerialOnOneGpu) {
  EXPECT_DOUBLE_EQ(seconds(ComTerm::mpi, 1e5, 1), seconds(ComTerm::star_serial, 1e5, 1));
}

TEST(ComTerm, ListsExactlyTheRoutesThatItUses) {
  for (const ComTerm term : all_com_terms) {
    std::set<Route> used;
    const auto recording = [&](Route route, double bytes) {
      used.insert(route);
      return Lines{}(route, bytes);
    };
    com_time(term, parameter, recording, 1000, 3, 0.0);
    const auto listed = routes(term);
    EXPECT_EQ(used, std::set<Route>(listed.begin(), listed.end()));
    EXPECT_EQ(listed.size(), used.size());
  }
}

}  // namespace
}  // namespace gpucast::model
