#include "gpucast/fit/parallel.h"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <vector>

namespace gpucast::fit {
namespace {

TEST(ParallelFor, CallsEveryIndexOnce) {
  for (const unsigned threads : {0U, 1U, 2U, 3U, 7U}) {
    for (const std::size_t grain : {1U, 8U, 1000U}) {
      for (const std::size_t count : {0U, 1U, 7U, 8U, 9U, 1001U}) {
        std::vector<std::atomic<int>> calls(count);
        parallel_for(count, threads, grain, [&](std::size_t i) { ++calls[i]; });
        for (const auto& call : calls) {
          ASSERT_EQ(call, 1) << threads << " threads, grain " << grain << ", count " << count;
        }
      }
    }
  }
}

TEST(ParallelFor, RethrowsAnExceptionOfAnyThread) {
  for (const unsigned threads : {1U, 2U, 5U}) {
    for (const std::size_t bad : {0U, 57U, 99U}) {
      EXPECT_THROW(parallel_for(100, threads, 1,
                                [&](std::size_t i) {
                                  if (i == bad) {
                                    throw std::domain_error("this one");
                                  }
                                }),
                   std::domain_error);
    }
  }
}

TEST(ParallelFor, StopsEarlyAfterAnException) {
  std::atomic<std::size_t> calls = 0;
  EXPECT_THROW(parallel_for(1000000, 2, 1,
                            [&](std::size_t) {
                              ++calls;
                              throw std::domain_error("every one");
                            }),
               std::domain_error);
  EXPECT_LE(calls, 2U);
}

}  // namespace
}  // namespace gpucast::fit
