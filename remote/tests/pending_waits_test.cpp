// The order of work that waits for events which complete while they are queried.
#include "server/pending_waits.h"

#include <gtest/gtest.h>

#include <functional>
#include <future>
#include <memory>
#include <vector>

namespace gpucast::remote::server {
namespace {

// Called after the first query, whose result is from before.
std::function<void()>& after_first_query() {
  static std::function<void()> body;
  return body;
}

TEST(PendingWaits, KeepTheOrderOfAStreamThatFinishesBetweenTwoQueries) {
  Gpu gpu(GPUCAST_TEST_LIBCUDA, 0, 0, std::nullopt);
  auto& driver = const_cast<Driver&>(gpu.driver());
  static auto* const query = driver.cuEventQuery;
  driver.cuEventQuery = [](CUevent event) {
    const CUresult status = query(event);
    if (const auto then = std::exchange(after_first_query(), nullptr)) then();
    return status;
  };
  CUstream stream = nullptr;
  check(driver.cuStreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING, 0));
  std::promise<void> go;
  const auto wait = [](void* on) { static_cast<std::promise<void>*>(on)->get_future().wait(); };
  check(driver.cuLaunchHostFunc(stream, wait, &go));
  PendingWaits waits;
  std::vector<int> done;
  for (int k = 0; k < 3; ++k) {
    const auto events = std::make_shared<Events>(Events{gpu.streams().record(stream)});
    waits.add({.events = events, .then = [&done, k](CUresult status) {
                 EXPECT_EQ(status, CUDA_SUCCESS);
                 done.push_back(k);
               }});
  }
  after_first_query() = [&] {
    go.set_value();
    check(driver.cuCtxSynchronize());
  };
  Bulk bulk;
  const DeferredD2h deferred(bulk);
  const auto room = [] { return true; };
  EXPECT_TRUE(waits.finish(gpu, deferred, room));
  waits.finish(gpu, deferred, room);
  EXPECT_EQ(done, (std::vector<int>{0, 1, 2}));
  EXPECT_TRUE(waits.empty());
}

}  // namespace
}  // namespace gpucast::remote::server
