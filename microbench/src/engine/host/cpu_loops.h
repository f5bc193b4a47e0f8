// Loops over pageable memory by the CPU.
#pragma once

#include <map>
#include <vector>

#include "engine/engine.h"
#include "engine/loop.h"

namespace gpucast::microbench {

class CpuLoops : public HostLoops {
 public:
  explicit CpuLoops(std::size_t bytes);  // of each array

  double allocate() override;
  double first_touch() override;
  double copy() override;  // throws DeviceError: there is nothing to copy to
  double loop(LoopPattern pattern, Runner runner) override;
  bool correct() override;

 private:
  std::vector<float> in_;
  std::vector<float> out_;
  std::map<LoopPattern, std::vector<Index>> lists_;
  LoopPattern last_ = LoopPattern::sequential;
};

}  // namespace gpucast::microbench
