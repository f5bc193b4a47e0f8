// When the GPU's work is recorded.
//
// Recording a kernel or copy takes the program 1 to 2 us, and recording a call about 0.1 us. A
// recording therefore alternates: full phases record everything, light ones only calls. Light
// phases show how long steps take undisturbed, full ones what the GPU does. A light phase is three
// times as long as the full one before it, and each pair is twice as long as the one before:
// whatever the duration of a step, a long enough recording has phases with whole steps, and few
// switches.
#pragma once

#include <chrono>
#include <cstdint>

namespace gpucast::trace {

class Phases {
 public:
  using Time = std::chrono::nanoseconds;  // of a monotonic clock
  static constexpr int growth = 2;

  // `first`: the length of the first full phase, which comes first if `full`, from `begin` on. A
  // length of 0 never ends.
  Phases(Time first, Time begin, int light_to_full = 3, bool full = true)
      : full_length_(first), began_(begin), light_to_full_(light_to_full), full_(full) {}

  [[nodiscard]] bool full() const { return full_; }
  // Returns the planned length of this phase.
  [[nodiscard]] Time length() const { return full_ ? full_length_ : light_to_full_ * full_length_; }
  // Returns the remaining time of this phase; the largest possible value if it never ends.
  [[nodiscard]] Time left(Time now) const {
    return full_length_ == Time{0} ? Time::max() : began_ + length() - now;
  }
  // Whether the phase is over: its time has passed, and if it is full, the GPU has worked in it.
  // `work`: the number of rows recorded so far. The first phase thus contains everything that a
  // program does before it uses its GPU.
  [[nodiscard]] bool over(Time now, std::uint64_t work) const {
    return left(now) <= Time{0} && (!full_ || work > work_before_);
  }
  // Begins the next phase.
  void next(Time now, std::uint64_t work) {
    if (!full_) full_length_ *= growth;
    full_ = !full_;
    again(now, work);
  }
  // Begins this phase again, because its records are incomplete.
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
