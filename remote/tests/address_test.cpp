#include "transport/address.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace gpucast::remote {
namespace {

TEST(Address, HostsPortsAndPaths) {
  EXPECT_EQ(parse_endpoint("node7:9700").host, "node7");
  EXPECT_EQ(parse_endpoint("node7:9700").port, "9700");
  EXPECT_EQ(parse_endpoint("[::1]:0").host, "::1");
  EXPECT_EQ(parse_endpoint("[::1]:0").text(), "[::1]:0");
  EXPECT_EQ(parse_endpoint("unix:/tmp/gpu").path, "/tmp/gpu");
  EXPECT_EQ(parse_endpoints("a:1,unix:/b,c:3").size(), 3U);
}

TEST(Address, BlanksAroundThemDoNotCount) {
  const auto found = parse_endpoints(" a:1, b:2\t,unix:/with blank ");
  ASSERT_EQ(found.size(), 3U);
  EXPECT_EQ(found[0].host, "a");
  EXPECT_EQ(found[1].text(), "b:2");
  EXPECT_EQ(found[2].path, "/with blank");
}

TEST(Address, WhatIsNoneIsRefused) {
  for (const char* text : {"", "node7", "node7:", ":9700", "node7:70000", "node7:-1", "node7:9x",
                           "::1:9700", "ucx:node7:9700", "unix:", "a:1,", ","})
    EXPECT_THROW(parse_endpoints(text), std::invalid_argument) << text;
}

}  // namespace
}  // namespace gpucast::remote
