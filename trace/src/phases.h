// When the GPU's work is recorded, and when it is not.
//
// A record of a kernel or copy costs the program 1 to 2 us, one of a call about 0.1. So a recording
// alternates: in full phases all is recorded, in light ones calls alone. Light phases tell how
// long steps take by themselves, full ones what the GPU did. A light phase is three times as long
// as the full one before it, and each pair twice as long as the last: whatever a step takes, a
// recording that is long enough has phases with whole steps, and few switches.
#pragma once

#include <chrono>
#include <cstdint>

namespace gpucast::trace {

class Phases {
 public:
  using Time = std::chrono::nanoseconds;  // of a clock that is never set
  static constexpr int growth = 2;

  // The length of the first full phase, which comes first where `full`; it counts from `begin`. A
  // length of 0: the first phase never ends.
  Phases(Time first, Time begin, int light_to_full = 3, bool full = true)
      : full_length_(first), began_(begin), light_to_full_(light_to_full), full_(full) {}

  [[nodiscard]] bool full() const { return full_; }
  // What this phase should last.
  [[nodiscard]] Time length() const { return full_ ? full_length_ : light_to_full_ * full_length_; }
  // How long it still lasts; the longest time there is where it never ends.
  [[nodiscard]] Time left(Time now) const {
    return full_length_ == Time{0} ? Time::max() : began_ + length() - now;
  }
  // Whether it is over: its time is, and a full one has seen the GPU at work. `work`: rows that
  // were recorded so far. What a program does before it asks anything of its GPU is thus in the
  // first phase.
  [[nodiscard]] bool over(Time now, std::uint64_t work) const {
    return left(now) <= Time{0} && (!full_ || work > work_before_);
  }
  // The next one begins.
  void next(Time now, std::uint64_t work) {
    if (!full_) full_length_ *= growth;
    full_ = !full_;
    again(now, work);
  }
  // This one begins again, because it did not become what it should.
  void again(Time now, std::uint64_t work) {
    began_ = now;
    work_before_ = work;
  }

 private:
  Time full_length_;
  Time began_;
  int light_to_full_;
  bool full_;
  std::uint64_t work_before_ = 0;
};

}  // namespace gpucast::trace
