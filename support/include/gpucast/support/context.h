// What every command of a program uses in addition to its own options.
#pragma once

#include <ostream>
#include <stop_token>
#include <string>
#include <vector>

namespace gpucast::support {

// The version of gpucast that all its programs belong to.
inline constexpr const char* version = GPUCAST_VERSION;

struct Context {
  const char* program;                    // the beginning of its messages
  std::vector<std::string> command_line;  // as it was started
  std::stop_token interrupted;            // Ctrl-C: the present work ends with complete records
  std::ostream& out;
  std::ostream& err;
};

}  // namespace gpucast::support
