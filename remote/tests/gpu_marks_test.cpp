// Marks that a GPU sets: their order, and failures of the GPU.
#include "server/gpu_marks.h"

#include <cuda.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <future>

namespace gpucast::remote::server {
namespace {

using std::chrono::microseconds;

const auto never = [] { return false; };

// A stream of a fake driver's only device.
class Marked : public testing::TestWithParam<bool> {
 protected:
  Marked() {
    // With NOT_SUPPORTED for each call, a host function is called instead.
    if (GetParam()) ::setenv("GPUCAST_FAKE_FAIL", "cuStreamWriteValue32:0:801", 1);
    driver_ = std::make_unique<Driver>(GPUCAST_TEST_LIBCUDA);
    driver_->cuInit(0);
    // They and their memory exist as long as the process, as in a server.
    static auto& all = *new std::vector<std::unique_ptr<GpuMarks>>;
    marks_ = all.emplace_back(std::make_unique<GpuMarks>(*driver_)).get();
    check(driver_->cuStreamCreateWithPriority(&stream_, CU_STREAM_NON_BLOCKING, 0));
  }
  // The stream does nothing until the promise is fulfilled.
  void hold(std::promise<void>& promise) {
    const auto wait = [](void* on) { static_cast<std::promise<void>*>(on)->get_future().wait(); };
    check(driver_->cuLaunchHostFunc(stream_, wait, &promise));
  }

  std::unique_ptr<Driver> driver_;
  GpuMarks* marks_ = nullptr;
  CUstream stream_ = nullptr;
};
INSTANTIATE_TEST_SUITE_P(By, Marked, testing::Bool(),
                         [](const auto& by) { return by.param ? "AFunction" : "AWord"; });

TEST_P(Marked, AreSetBehindWhatTheStreamHolds) {
  std::promise<void> promise;
  hold(promise);
  const auto mark = marks_->queue(stream_);
  EXPECT_FALSE(mark->is_set());
  int asked = 0;
  EXPECT_EQ(marks_->wait(*mark, microseconds(10), [&] { return ++asked > 3; }),
            CUDA_ERROR_NOT_READY);
  promise.set_value();
  EXPECT_EQ(marks_->wait(*mark, microseconds(0), never), CUDA_SUCCESS);
  EXPECT_TRUE(mark->is_set());
}

TEST_P(Marked, SaySoToManyThreads) {
  std::promise<void> promise;
  hold(promise);
  const auto mark = marks_->queue(stream_);
  constexpr int threads = 8;
  std::vector<std::future<CUresult>> all;
  all.reserve(threads);
  for (int k = 0; k < threads; ++k) {
    all.push_back(std::async(std::launch::async,
                             [&, k] { return marks_->wait(*mark, microseconds(100 * k), never); }));
  }
  promise.set_value();
  for (auto& status : all)
    EXPECT_EQ(status.get(), CUDA_SUCCESS);
}

// Memory that the GPU may still write is not given to another mark.
TEST_P(Marked, HaveMemoryOfTheirOwnUntilTheyAreSet) {
  std::promise<void> promise;
  hold(promise);
  marks_->queue(stream_);  // nobody waits for this one
  constexpr int many = 2000;
  std::vector<std::shared_ptr<const GpuMark>> kept;
  CUstream other = nullptr;
  check(driver_->cuStreamCreateWithPriority(&other, CU_STREAM_NON_BLOCKING, 0));
  for (int k = 0; k < many; ++k) {
    const auto mark = marks_->queue(k % 2 == 0 ? other : stream_);
    if (k % 2 != 0)
      kept.push_back(mark);
    else
      EXPECT_EQ(marks_->wait(*mark, microseconds(100), never), CUDA_SUCCESS);
  }
  for (const auto& mark : kept)
    EXPECT_FALSE(mark->is_set());
  promise.set_value();
  for (const auto& mark : kept)
    EXPECT_EQ(marks_->wait(*mark, microseconds(0), never), CUDA_SUCCESS);
}

TEST_P(Marked, AreNotWaitedForWhereTheGpuHasFailed) {
  std::promise<void> promise;
  hold(promise);
  check(driver_->cuLaunchHostFunc(
      stream_, [](void* /*nothing*/) { throw std::runtime_error("an illegal access"); }, nullptr));
  const auto mark = marks_->queue(stream_);
  auto status =
      std::async(std::launch::async, [&] { return marks_->wait(*mark, microseconds(100), never); });
  promise.set_value();
  EXPECT_EQ(status.get(), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_FALSE(mark->is_set());
  EXPECT_THROW(marks_->queue(stream_), DriverError);
}

}  // namespace
}  // namespace gpucast::remote::server
