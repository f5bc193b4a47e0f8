#include "phases.h"

namespace gpucast::trace {

Phases::Time Phases::left(Time now) const {
  if (full_length_ == Time{0}) return Time::max();
  return began_ + length() - now;
}

bool Phases::over(Time now, std::uint64_t work) const {
  return left(now) <= Time{0} && (!full_ || work > work_before_);
}

void Phases::next(Time now, std::uint64_t work) {
  if (!full_) full_length_ *= growth;
  full_ = !full_;
  again(now, work);
}

void Phases::again(Time now, std::uint64_t work) {
  began_ = now;
  work_before_ = work;
}

}  // namespace gpucast::trace
