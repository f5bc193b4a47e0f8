// EXPECT_TRUE(contains(text, part)), which shows both where it fails.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace gpucast::mdapp::test {

inline ::testing::AssertionResult contains(std::string_view text, std::string_view part) {
  if (text.find(part) != std::string_view::npos) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << "\"" << text << "\" does not hold \"" << part << "\"";
}

}  // namespace gpucast::mdapp::test
