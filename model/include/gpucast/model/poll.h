// The delay of a copy that waits for a kernel: a GPU's copy engine polls for the kernel's end at
// ticks.
//
// A queue whose next command waits for another engine is looked at again every 2^13 ns, counted
// from when it began to wait (measured on H200 by a program of its own: docs/copy-waits.md). Work
// that takes x from there on is seen to have ended at the next tick,
//
//     W(x) = q ceil(x / q)    x > 0,    q = 8.192 us
//
// and at once if it has ended before (x <= 0). A forecast knows x to within some sigma only, and
// what it expects is the mean over that: the sawtooth W(x) - x = q/2 + (q/pi) sum_k sin(2 pi k
// x/q)/k with each harmonic damped by exp(-2 (pi k sigma / q)^2). For x known to much less than a
// tick that is the staircase, for x known no better than a tick it is x + q/2.
#pragma once

#include <cmath>
#include <numbers>

namespace gpucast::model {

inline constexpr double poll_tick = 8192e-9;  // s

// From the return of a launch until the following copy begins to wait. The time of the copy's call
// until then is part of the copy's own latency.
inline constexpr double poll_lead = 2.5e-6;  // s

// The standard deviation of T_gpu in a forecast: the start of a kernel is known to a fraction of a
// microsecond, its rate to a fraction of a percent.
inline constexpr double poll_jitter = 0.4e-6;  // s
inline constexpr double poll_relative = 0.004;

template <class T>
T polled(const T& work) {
  using std::exp;
  using std::sin;
  using std::sqrt;
  constexpr double pi = std::numbers::pi;
  constexpr int harmonics = 5;
  constexpr double blurred = 0.6;  // of a tick: even the first harmonic vanishes
  if (!(work > 0.0)) return 0.0 * work;
  T seen = work + poll_tick / 2;
  const T sigma =
      sqrt(poll_jitter * poll_jitter + poll_relative * poll_relative * work * work) / poll_tick;
  if (sigma > blurred) return seen;
  const T damping = -2.0 * pi * pi * sigma * sigma;
  const T phase = work * (2 * pi / poll_tick);
  for (int k = 1; k <= harmonics; ++k) {
    const double order = k;
    seen += (poll_tick / pi / order) * sin(order * phase) * exp(order * order * damping);
  }
  return seen;
}

}  // namespace gpucast::model
