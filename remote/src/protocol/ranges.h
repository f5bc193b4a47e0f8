// Memory by where it begins.
#pragma once

#include <cstdint>

#include "protocol/calls.h"

namespace gpucast::remote {

// The entry of a map from Address to what has `bytes` that holds all of this; its end if none does.
template <class Map>
Map::const_iterator holder(const Map& ranges, Address address, std::uint64_t bytes) {
  auto found = ranges.upper_bound(address);
  if (found == ranges.begin()) return ranges.end();
  --found;
  const std::uint64_t offset = address - found->first;
  const bool inside = offset <= found->second.bytes && bytes <= found->second.bytes - offset;
  return inside ? found : ranges.end();
}

}  // namespace gpucast::remote
