#include <gtest/gtest.h>

#include "engine/engine.h"
#include "engine/numa.h"

namespace gpucast::microbench {
namespace {

using records::Memory;

Copy copy(int from, int to, std::int64_t bytes) {
  return {.from = from, .to = to, .bytes = bytes, .memory = Memory::pageable};
}

TEST(HostEngine, CopiesArriveOnlyOnceTheyAreMade) {
  const auto engine = host_engine(2);
  for (const Copy& one : {copy(host, 0, 1000), copy(1, host, 1), copy(0, 1, 4097)}) {
    const auto copies = engine->open({&one, 1});
    EXPECT_FALSE(copies->correct());
    EXPECT_GT(copies->call(), 0);
    EXPECT_TRUE(copies->correct());
  }
}

TEST(HostEngine, GatedCopiesArriveToo) {
  const auto engine = host_engine(2);
  const std::vector<Copy> both = {copy(host, 0, 1 << 20), copy(1, host, 1 << 20)};
  const auto copies = engine->open(both);
  for (const int in_a_row : {0, 1, 8})
    EXPECT_GE(copies->gated(in_a_row), 0);
  EXPECT_TRUE(copies->correct());
  for (const auto payload : {CopySet::Payload::copies, CopySet::Payload::nothing})
    EXPECT_GE(copies->between_kernels(4, payload, 0), 0);
}

TEST(HostEngine, CopiesOfOneDeviceShareItsQueue) {
  const auto engine = host_engine(1);
  const std::vector<Copy> both = {copy(host, 0, 1000), copy(0, host, 1000)};
  const auto copies = engine->open(both);
  EXPECT_GT(copies->gated(4), 0);
  EXPECT_TRUE(copies->correct());
}

TEST(HostEngine, LaunchesTakeTime) {
  const auto engine = host_engine(1);
  const auto launches = engine->launches(0, 0);
  EXPECT_GT(launches->sync(1), 0);
  EXPECT_GT(launches->submit(16), 0);
  EXPECT_GT(launches->gated(256), 0);
  EXPECT_TRUE(engine->refuses(records::LaunchMethod::graph).has_value());
}

TEST(HostEngine, StepsWithoutWork) {
  const auto engine = host_engine(3);
  for (const auto schedule : {records::Schedule::star_serial, records::Schedule::star_async}) {
    constexpr double busy = 2e-4;
    const auto skeleton = engine->skeleton({.schedule = schedule,
                                            .devices = {0, 2},
                                            .h2d_bytes = 1 << 12,
                                            .d2h_bytes = 1000,
                                            .busy = busy});
    EXPECT_EQ(skeleton->kernel_seconds(), busy);
    EXPECT_GT(skeleton->step(), busy);
    EXPECT_TRUE(skeleton->correct());
  }
}

TEST(HostEngine, LoopsOverItsMemory) {
  const auto engine = host_engine(1);
  const auto loops = engine->host_loops(0, Memory::pageable, 1 << 16);
  for (const auto pattern : {LoopPattern::sequential, LoopPattern::indirect, LoopPattern::random}) {
    EXPECT_GT(loops->loop(pattern, Runner::cpu), 0);
    EXPECT_TRUE(loops->correct());
    EXPECT_FALSE(loops->correct());  // results were cleared
  }
  EXPECT_GT(loops->allocate(), 0);
  EXPECT_GT(loops->first_touch(), 0);
  EXPECT_THROW(loops->copy(), DeviceError);
  EXPECT_THROW(loops->loop(LoopPattern::indirect, Runner::gpu), DeviceError);
}

TEST(Loop, ListsAreWhatTheirPatternSays) {
  EXPECT_TRUE(loop_list(LoopPattern::sequential, 100).empty());
  const auto in_order = loop_list(LoopPattern::indirect, 100);
  EXPECT_TRUE(std::ranges::is_sorted(in_order));
  auto random = loop_list(LoopPattern::random, 100);
  EXPECT_FALSE(std::ranges::is_sorted(random));
  std::ranges::sort(random);
  EXPECT_EQ(random, in_order);
}

TEST(HostEngine, SaysWhatItDoesNotHave) {
  const auto engine = host_engine(2);
  const auto method = records::TransferMethod::gated;
  EXPECT_FALSE(engine->refuses(copy(host, 0, 8), method).has_value());
  EXPECT_TRUE(engine->refuses({.from = host, .to = 0, .bytes = 8}, method).has_value());
  Copy staged = copy(0, 1, 8);
  staged.staged = true;
  EXPECT_TRUE(engine->refuses(staged, method).has_value());
}

TEST(Pattern, DiffersFromPlaceToPlaceAndSeedToSeed) {
  int same_place = 0;
  int same_seed = 0;
  constexpr int count = 10000;
  for (std::uint64_t k = 0; k < count; ++k) {
    same_place += pattern(k, 1) == pattern(k + 1, 1) ? 1 : 0;
    same_seed += pattern(k, 1) == pattern(k, 2) ? 1 : 0;
  }
  EXPECT_LT(same_place, count / 100);
  EXPECT_LT(same_seed, count / 100);
}

constexpr std::size_t untouched = 1 << 16;

TEST(Numa, TouchedMemoryLiesOnANodeOfThisMachine) {
  const UntouchedMemory memory(untouched);
  touch_pages(memory.data(), untouched);
  const auto node = node_of(memory.data());
  if (!node) GTEST_SKIP() << "this system does not say where memory lies";
  EXPECT_TRUE(std::ifstream("/sys/devices/system/node/node" + std::to_string(*node) + "/meminfo"));
}

TEST(Numa, APreferredNodeIsObtainedWhereItExists) {
  const UntouchedMemory probe(untouched);
  touch_pages(probe.data(), untouched);
  if (!node_of(probe.data())) GTEST_SKIP() << "this system does not say where memory lies";
  const UntouchedMemory memory(untouched);
  {
    const PreferNode preferred(0);
    touch_pages(memory.data(), untouched);
  }
  EXPECT_EQ(node_of(memory.data()), 0);
}

TEST(Numa, NodesThatDoNotExistDoNoHarm) {
  for (const int node : {63, 1000, 1 << 20}) {
    const PreferNode preferred(node);
    const UntouchedMemory memory(untouched);
    EXPECT_GE(touch_pages(memory.data(), untouched), 0);
  }
}

TEST(Numa, DevicesThatAreNotThereAreNearNoNode) {
  EXPECT_FALSE(node_of_pci("ffff:FF:1f.7").has_value());
}

}  // namespace
}  // namespace gpucast::microbench
