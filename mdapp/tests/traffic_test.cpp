// Bytes that a step moves, as counted by the copies.
#include <gtest/gtest.h>

#include "schedules.h"
#include "shaken.h"

namespace gpucast::mdapp {
namespace {

using test::melt;

struct Bytes {
  std::vector<Traffic> devices;
  Traffic total{};
};

Bytes bytes_a_step(Schedule schedule, int n, int gpus,
                   const IntegratorOptions& integrator = test::integrators[0]) {
  const auto engine = host_engine(gpus);
  const auto stepper =
      make_stepper(*engine, melt(nacl(), n), integrator, {.name = schedule, .gpus = gpus});
  stepper->steps(1);
  const std::vector<Traffic> before = stepper->traffic();
  const int steps = 3;
  stepper->steps(steps);
  Bytes bytes;
  bytes.devices = stepper->traffic();
  for (std::size_t g = 0; g < before.size(); ++g) {
    Traffic& own = bytes.devices[g];
    own = own - before[g];
    own = {.h2d = own.h2d / steps, .d2h = own.d2h / steps, .exchange = own.exchange / steps};
    bytes.total = bytes.total + own;
  }
  return bytes;
}

TEST(Traffic, StarsSendAllPositionsToEachDeviceAndGetEachForceOnce) {
  for (const Schedule schedule : test::stars) {
    for (int gpus = 1; gpus <= 4; ++gpus) {
      for (const int n : {101, 64, 3}) {
        SCOPED_TRACE(test::describe(schedule, gpus));
        const Bytes bytes = bytes_a_step(schedule, n, gpus);
        for (const Traffic& device : bytes.devices) {
          EXPECT_EQ(device.h2d, 16 * n);
          EXPECT_EQ(device.exchange, 0);
        }
        EXPECT_EQ(bytes.total.d2h, 12 * n);
      }
    }
  }
}

TEST(Traffic, StarsMoveAsManyBytesWithAThermostat) {
  const Bytes bytes = bytes_a_step(Schedule::star_async, 101, 2, test::integrators[1]);
  EXPECT_EQ(bytes.total.h2d, 2 * 16 * 101);
  EXPECT_EQ(bytes.total.d2h, 12 * 101);
}

TEST(Traffic, AllGatherBringsEachDeviceThePositionsOfTheOthers) {
  for (int gpus = 1; gpus <= 4; ++gpus) {
    const int n = 101;
    const Bytes bytes = bytes_a_step(Schedule::allgather, n, gpus);
    EXPECT_EQ(bytes.total.h2d, 0);
    EXPECT_EQ(bytes.total.d2h, 0);
    for (int g = 0; g < gpus; ++g) {
      EXPECT_EQ(bytes.devices[static_cast<std::size_t>(g)].exchange,
                16 * (n - slice_of(n, gpus, g).count));
    }
  }
}

}  // namespace
}  // namespace gpucast::mdapp
