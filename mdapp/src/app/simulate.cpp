#include "app/simulate.h"

#include <algorithm>
#include <numeric>

namespace gpucast::mdapp {
namespace {

constexpr double longest_row = 0.2;  // s between looks at Ctrl-C
constexpr std::int64_t most_in_a_row = 4096;

// Makes `count` steps, or fewer if interrupted.
std::int64_t advance(Stepper& stepper, std::int64_t count, Processes& processes,
                     const std::stop_token& interrupted) {
  std::int64_t row = 1;
  std::int64_t made = 0;
  while (made < count) {
    const bool stop = interrupted.stop_requested();
    const auto next = static_cast<int>(
        processes.agree(stop ? 0.0 : static_cast<double>(std::min(row, count - made))));
    if (next == 0) break;
    const auto seconds = stepper.steps(next);
    made += next;
    const bool short_row = std::accumulate(seconds.begin(), seconds.end(), 0.0) < longest_row / 2;
    row = short_row ? std::min(2 * row, most_in_a_row) : std::max<std::int64_t>(1, row / 2);
  }
  return made;
}

}  // namespace

std::int64_t simulate(Stepper& stepper, const Simulation& simulation, Processes& processes,
                      const std::stop_token& interrupted) {
  const auto show = [&](std::int64_t made) {
    const double time = static_cast<double>(made) * simulation.dt;
    simulation.observed(observe(stepper, time));
    if (simulation.frame) simulation.frame(stepper.system(), time);
  };
  std::int64_t made = 0;
  show(made);
  while (made < simulation.steps) {
    const std::int64_t wanted = std::min(simulation.every, simulation.steps - made);
    const std::int64_t now = advance(stepper, wanted, processes, interrupted);
    made += now;
    if (now < wanted) break;
    show(made);
  }
  return made;
}

}  // namespace gpucast::mdapp
