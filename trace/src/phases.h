// When the GPU's work is recorded, and when it is not.
//
// A record of a kernel or copy costs the program 1 to 2 us, one of a call about 0.1. So a recording
// alternates: in full phases all is recorded, in light ones calls alone. Light phases tell how long
// steps and calls take by themselves, full ones what the GPU did. A light phase is three times as
// long as the full one before it, and each pair twice as long as the last: whatever a step takes,
// a recording that is long enough has phases with whole steps, and few switches.
#pragma once

#include <chrono>
#include <cstdint>

namespace gpucast::trace {

class Phases {
 public:
  using Time = std::chrono::nanoseconds;  // of a clock that is never set
  static constexpr int light_to_full = 3;
  static constexpr int growth = 2;

  // The first phase is full; its length counts from `begin`. A length of 0: it never ends.
  Phases(Time first, Time begin) : full_length_(first), began_(begin) {}

  [[nodiscard]] bool full() const { return full_; }
  // What this phase should last.
  [[nodiscard]] Time length() const { return full_ ? full_length_ : light_to_full * full_length_; }
  // How long it still lasts; the longest time there is where it never ends.
  [[nodiscard]] Time left(Time now) const;
  // Whether it is over: its time is, and it has seen the program at work. `rows`: that were
  // recorded so far, of work in a full phase, of calls in a light one. What a program does before
  // it asks anything of its GPU is thus in the first phase.
  [[nodiscard]] bool over(Time now, std::uint64_t rows) const;
  // The next one begins; `rows`: of the kind that it counts.
  void next(Time now, std::uint64_t rows);

 private:
  Time full_length_;
  Time began_;
  bool full_ = true;
  std::uint64_t rows_before_ = 0;
};

}  // namespace gpucast::trace
