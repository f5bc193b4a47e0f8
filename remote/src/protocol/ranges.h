// Look-up of memory ranges by their addresses.
#pragma once

#include <cstdint>
#include <limits>

#include "protocol/calls.h"

namespace gpucast::remote {

// Bytes from the first row's beginning to the last row's end; the largest number if that overflows.
inline std::uint64_t extent(std::uint64_t pitch, std::uint64_t width, std::uint64_t height) {
  if (height <= 1 || width == 0) return height == 0 ? 0 : width;
  constexpr std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
  if (pitch > (most - width) / (height - 1)) return most;
  return pitch * (height - 1) + width;
}

// Finds the entry that holds the whole range in a map from Address to entries with `bytes`; its end
// if there is none.
template <class Map>
Map::const_iterator holder(const Map& ranges, Address address, std::uint64_t bytes) {
  auto range = ranges.upper_bound(address);
  if (range == ranges.begin()) return ranges.end();
  --range;
  const std::uint64_t offset = address - range->first;
  const bool inside = offset <= range->second.bytes && bytes <= range->second.bytes - offset;
  return inside ? range : ranges.end();
}

}  // namespace gpucast::remote
