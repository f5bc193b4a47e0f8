// One description of a copy, whatever moves it: from where to where, how much, by what.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gpucast/records/records.h"

namespace gpucast::microbench {

// A place is a device's number, or the host.
inline constexpr int host = -1;

struct Copy {
  int from = host;
  int to = 0;
  std::int64_t bytes = 0;
  // Kind of the host memory that the copy begins or ends in, or that a staged copy goes through;
  // without meaning between devices.
  records::Memory memory = records::Memory::pinned;
  records::Engine engine = records::Engine::copy;
  bool staged = false;  // between devices, through the host
  bool reads = false;   // between devices: the destination fetches, where else the source sends

  bool operator==(const Copy&) const = default;
};

// The device that makes a copy.
int issuer(const Copy& copy);

records::Route route(const Copy& copy);

// "host", "gpu0"
std::string place(int where);

// "h2d pinned host>gpu0", without the size.
std::string describe(const Copy& copy);

// The sizes that a sweep measures: powers of two from 1 byte to `largest`, and between them, from
// 64 bytes to 64 MiB, sizes that are no multiple of anything (three quarters of a power, less 1),
// descending: buffers of the first then serve all the others. Above, copies are as fast as their
// link, and take long.
std::vector<std::int64_t> all_sizes(std::int64_t largest);

// In addition to those, quarter steps between powers of two, and each of these sizes and 1 more:
// for copies within a GPU, which go another way where sizes are no multiple of 16 bytes, and take
// another time once they do not fit into its cache.
std::vector<std::int64_t> quarter_sizes(std::int64_t largest);

// Every `step`th power of two, from 64 bytes on, descending.
std::vector<std::int64_t> few_sizes(std::int64_t largest, int step);

}  // namespace gpucast::microbench
