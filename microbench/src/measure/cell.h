// What one measurement is about.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "copies/copy.h"
#include "gpucast/records/records.h"

namespace gpucast::microbench {

// The first copy, with the others under way.
struct TransferCell {
  std::vector<Copy> copies;
  records::TransferMethod method = records::TransferMethod::call;
};

struct LaunchCell {
  int device = 0;
  records::LaunchMethod method = records::LaunchMethod::submit;
  int count = 1;
  int arguments = 0;
};

struct OverlapCell {
  int device = 0;
  std::int64_t bytes = 0;
  std::vector<records::OverlapPart> parts;
};

using Cell = std::variant<TransferCell, LaunchCell, OverlapCell>;

// One line, for progress and notes.
std::string describe(const Cell& cell);

}  // namespace gpucast::microbench
