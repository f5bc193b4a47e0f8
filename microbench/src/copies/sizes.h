// Which sizes a sweep measures.
#pragma once

#include <cstdint>
#include <vector>

namespace gpucast::microbench {

// Powers of two from 1 byte to `largest`, and between them, from 64 bytes to 64 MiB, sizes that are
// no multiple of anything (three quarters of a power, less 1), descending: buffers of the first
// then serve all the others. Above, copies are as fast as their link, and take long.
std::vector<std::int64_t> all_sizes(std::int64_t largest);

// Besides those, quarter steps between powers of two, and each of these sizes and 1 more: for
// copies within a GPU, which go another way where sizes are no multiple of 16 bytes, and take
// another time once they do not fit into its cache.
std::vector<std::int64_t> quarter_sizes(std::int64_t largest);

// Every `step`th power of two, from 64 bytes on, descending.
std::vector<std::int64_t> few_sizes(std::int64_t largest, int step);

}  // namespace gpucast::microbench
