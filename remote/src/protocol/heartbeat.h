// Signs of life on a monitor connection: a byte a second in each direction. The client numbers its
// own, from 1 to 255 over and over; each of the server's is the number of the last that it has
// heard, 0 before the first. So the client knows of both directions that they carry what is sent.
// The server does not ask as much: a program that is stopped (by Ctrl-Z, by a debugger) says
// nothing, and goes on later.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>

namespace gpucast::remote {

inline constexpr std::chrono::seconds beat_pause(1);

// The client's side, counted in beats and not by a clock: time in which the program itself stood
// still is nobody's silence.
class Heartbeat {
 public:
  // The next number to send.
  std::byte next() {
    last_ = last_ == most_number ? 1 : last_ + 1;
    unanswered_.push_back(last_);
    return std::byte{last_};
  }
  // What the server said. A number that is not awaited says nothing.
  void heard(std::byte answer) {
    const auto found = std::ranges::find(unanswered_, std::to_integer<std::uint8_t>(answer));
    if (found != unanswered_.end()) unanswered_.erase(unanswered_.begin(), found + 1);
  }
  // Whether the server, or a direction of the network, is gone: nothing that was said in so many
  // seconds has been answered.
  bool stopped() const { return unanswered_.size() > most_unanswered; }

 private:
  static constexpr std::uint8_t most_number = 255;
  static constexpr std::size_t most_unanswered = 6;

  std::uint8_t last_ = 0;
  std::deque<std::uint8_t> unanswered_;
};

}  // namespace gpucast::remote
