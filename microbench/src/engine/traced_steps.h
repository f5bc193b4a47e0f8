// Steps of a traced program, made again: the same calls in the same order by as many threads, with
// the host's pauses between them, and kernels that keep the device busy as long. What its path
// takes for a step is thus seen without the program.
#pragma once

#include <cstddef>
#include <vector>

#include "engine/calls.h"
#include "gpucast/devices/clock.h"
#include "gpucast/support/interface.h"

namespace gpucast::microbench {

class TracedSteps : public support::Interface {
 public:
  explicit TracedSteps(TracedProgram program);

  // Makes all steps, one behind the other. Seconds of each but the first, which finds streams
  // empty: from the end of the call before a step to the end of its last, in the thread that begins
  // it. Throws what a call throws.
  std::vector<double> make();

 protected:
  const TracedProgram& program() const { return program_; }
  // `number`: of the call in the program.
  virtual void make_call(const TracedCall& call, std::size_t number) = 0;
  // Until all devices are done, whatever happened.
  virtual void settle() = 0;

 private:
  using Moment = devices::Clock::time_point;
  // A thread's calls. `moments`: when each step began.
  void make_calls_of(int thread, Moment begin, std::vector<Moment>* moments);

  TracedProgram program_;
  int driver_;                                   // the thread that begins the steps
  std::vector<std::vector<std::size_t>> calls_;  // of each thread
};

// Seconds that an empty kernel keeps a GPU busy (H200): a kernel that spins takes so much longer.
inline constexpr double empty_kernel_seconds = 1e-6;

}  // namespace gpucast::microbench
