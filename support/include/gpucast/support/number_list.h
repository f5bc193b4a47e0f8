// Lists of whole numbers on the command line: 216,512,1e5   1-4   1-8:2   216..1e5:9
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace gpucast::support {

struct Bounds {
  std::int64_t least = 1;
  std::int64_t most = INT64_MAX;
};

// Returns the numbers in the given order, without repetitions. A range FIRST-LAST or
// FIRST-LAST:STEP includes its last number if the step reaches it; FIRST..LAST:COUNT has COUNT
// numbers, evenly spaced in the logarithm (13 by default). Throws InputError, which names the
// option and the item: `--gpus: "0" is less than 1`.
std::vector<std::int64_t> parse_number_list(std::string_view option, std::string_view text,
                                            Bounds bounds);

// One number, written as in a list.
std::int64_t parse_number(std::string_view option, std::string_view text, Bounds bounds);

}  // namespace gpucast::support
