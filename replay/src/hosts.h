// Host threads: each makes its calls in their order.
#pragma once

#include <cstdint>
#include <vector>

#include "agenda.h"
#include "gpucast/replay/program.h"
#include "gpucast/replay/simulate.h"
#include "index.h"

namespace gpucast::replay {

class Hosts {
 public:
  Hosts(const Program& program, Agenda& agenda, Times& times);

  void start();
  // At What::host: the call that a thread begins with that.
  std::int32_t next_call(std::int32_t thread);
  void returns(std::int32_t call, double time);
  bool returned(std::int32_t call) const { return returned_[at(call)] != 0; }
  // A call that needs what another thread has yet to ask for: What::again once that has returned.
  void wait_for(std::int32_t call, std::int32_t other) { waiting_.push_back({call, other}); }
  bool all_returned() const { return left_ == 0; }

 private:
  struct Waiting {
    std::int32_t call = none;
    std::int32_t other = none;
  };
  void schedule(std::int32_t thread, double time);

  const Program& program_;
  Agenda& agenda_;
  Times& times_;
  std::vector<std::int32_t> calls_;  // thread by thread
  std::vector<std::size_t> next_;    // in `calls_`
  std::vector<std::size_t> end_;
  std::vector<std::uint8_t> returned_;
  std::vector<Waiting> waiting_;
  std::size_t left_;
};

}  // namespace gpucast::replay
