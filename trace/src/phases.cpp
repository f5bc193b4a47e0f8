#include "phases.h"

namespace gpucast::trace {

Phases::Time Phases::left(Time now) const {
  if (full_length_ == Time{0}) return Time::max();
  return began_ + length() - now;
}

bool Phases::over(Time now, std::uint64_t rows) const {
  return left(now) <= Time{0} && rows > rows_before_;
}

void Phases::next(Time now, std::uint64_t rows) {
  if (!full_) full_length_ *= growth;
  full_ = !full_;
  began_ = now;
  rows_before_ = rows;
}

}  // namespace gpucast::trace
