// What every command works with besides its own options.
#pragma once

#include <ostream>
#include <stop_token>
#include <string>
#include <vector>

namespace gpucast::microbench {

inline constexpr const char* program = "gpucast-microbench";

struct Context {
  std::vector<std::string> command_line;
  std::stop_token interrupted;
  std::ostream& out;
  std::ostream& err;
};

}  // namespace gpucast::microbench
