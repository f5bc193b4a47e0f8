// One description of a copy, whatever moves it: from where to where, how much, by what.
#pragma once

#include <cstdint>
#include <string>

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

}  // namespace gpucast::microbench
