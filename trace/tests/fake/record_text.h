// Activity records as text, one per line: KIND and fields named as in CUPTI's structs,
//
//   kernel start=1000 end=2000 correlationId=7 streamId=13 name=_Z4workPf gridX=10
//
// Other fields are 0; a call's grid and block are 1.
#pragma once

#include <cupti.h>

#include <cstddef>
#include <string>
#include <vector>

namespace gpucast::trace::fake {

// Returns the record's bytes. Its texts stay valid as long as the process lives. Throws
// std::invalid_argument.
std::vector<std::byte> record_from_text(const std::string& line);

}  // namespace gpucast::trace::fake
