#include <algorithm>
#include <map>
#include <vector>

#include "engine/host/open.h"
#include "engine/loop.h"
#include "engine/untouched_memory.h"

namespace gpucast::microbench {
namespace {

class CpuLoops : public HostLoops {
 public:
  explicit CpuLoops(std::int64_t bytes)
      : in_(loop_inputs(floats_of_array(bytes))), out_(in_.size()) {}

  double allocate() override { return seconds_to_allocate(in_.size() * sizeof(float)); }
  double first_touch() override { return seconds_to_touch(in_.size() * sizeof(float)); }
  double copy() override { throw DeviceError("there is no GPU to copy to"); }

  double loop(LoopPattern pattern, Runner runner) override {
    if (runner == Runner::gpu) throw DeviceError("there is no GPU");
    const auto [found, is_new] = lists_.try_emplace(pattern);
    if (is_new) found->second = loop_list(pattern, in_.size());
    last_ = pattern;
    const auto begin = devices::Clock::now();
    run_loop(out_.data(), in_.data(), found->second, in_.size());
    return devices::seconds_since(begin);
  }

  bool correct() override {
    const bool right = loop_is_correct(out_, lists_[last_]);
    out_.assign(out_.size(), -1);  // the next loop must not find these
    return right;
  }

 private:
  std::vector<float> in_;
  std::vector<float> out_;
  std::map<LoopPattern, std::vector<Index>> lists_;
  LoopPattern last_ = LoopPattern::sequential;
};

}  // namespace

std::unique_ptr<HostLoops> cpu_loops(std::int64_t bytes) {
  return std::make_unique<CpuLoops>(bytes);
}

}  // namespace gpucast::microbench
