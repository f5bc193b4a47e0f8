#include "engine/host/cpu_loops.h"

#include <algorithm>

#include "engine/untouched_memory.h"
#include "gpucast/devices/clock.h"

namespace gpucast::microbench {

using devices::Clock;
using devices::seconds_since;

CpuLoops::CpuLoops(std::size_t bytes)
    : in_(loop_inputs(std::max<std::size_t>(1, bytes / sizeof(float)))), out_(in_.size()) {}

double CpuLoops::allocate() {
  const auto begin = Clock::now();
  const UntouchedMemory array(in_.size() * sizeof(float));
  return seconds_since(begin);
}

double CpuLoops::first_touch() {
  const UntouchedMemory array(in_.size() * sizeof(float));
  return touch_pages(array.data(), in_.size() * sizeof(float));
}

double CpuLoops::copy() { throw DeviceError("there is no GPU to copy to"); }

double CpuLoops::loop(LoopPattern pattern, Runner runner) {
  if (runner == Runner::gpu) throw DeviceError("there is no GPU");
  const auto [found, is_new] = lists_.try_emplace(pattern);
  if (is_new) found->second = loop_list(pattern, in_.size());
  last_ = pattern;
  const auto begin = Clock::now();
  run_loop(out_.data(), in_.data(), found->second, in_.size());
  return seconds_since(begin);
}

bool CpuLoops::correct() {
  const bool right = loop_is_correct(out_, lists_[last_]);
  out_.assign(out_.size(), -1);  // the next loop must not find these
  return right;
}

}  // namespace gpucast::microbench
