#include "engine/numa.h"

#include <gtest/gtest.h>

#include <fstream>

namespace gpucast::microbench {
namespace {

constexpr std::size_t size = 1 << 16;

TEST(Numa, TouchedMemoryLiesOnANodeOfThisMachine) {
  const UntouchedMemory memory(size);
  touch_pages(memory.data(), size);
  const auto node = node_of(memory.data());
  if (!node) GTEST_SKIP() << "this system does not say where memory lies";
  EXPECT_TRUE(std::ifstream("/sys/devices/system/node/node" + std::to_string(*node) + "/meminfo"));
}

TEST(Numa, APreferredNodeIsObtainedWhereItExists) {
  const UntouchedMemory probe(size);
  touch_pages(probe.data(), size);
  if (!node_of(probe.data())) GTEST_SKIP() << "this system does not say where memory lies";
  const UntouchedMemory memory(size);
  {
    const PreferNode preferred(0);
    touch_pages(memory.data(), size);
  }
  EXPECT_EQ(node_of(memory.data()), 0);
}

TEST(Numa, NodesThatDoNotExistDoNoHarm) {
  for (const int node : {63, 1000, 1 << 20}) {
    const PreferNode preferred(node);
    const UntouchedMemory memory(size);
    EXPECT_GE(touch_pages(memory.data(), size), 0);
  }
}

TEST(Numa, DevicesThatAreNotThereAreNearNoNode) {
  EXPECT_FALSE(node_of_pci("ffff:FF:1f.7").has_value());
}

}  // namespace
}  // namespace gpucast::microbench
