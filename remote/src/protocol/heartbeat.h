// Signs of life on a monitor connection: a byte a second in each direction. The client numbers its
// own, from 1 to 255 over and over; each of the server's is the number of the last that it has
// heard, 0 before the first. So the client knows of both directions that they carry what is sent.
// The server does not ask as much: a program that is stopped (by Ctrl-Z, by a debugger) says
// nothing, and goes on later.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace gpucast::remote {

inline constexpr std::chrono::seconds beat_pause(1);

// The client's side, counted in beats and not by a clock: time in which the program itself stood
// still is nobody's silence.
class Heartbeat {
 public:
  // The next number to send.
  std::byte next() {
    last_ = last_ == most_number ? 1 : last_ + 1;
    ++unanswered_;
    return std::byte{last_};
  }
  // That of so many beats ago.
  std::byte number(int beats_ago) const {
    return std::byte{
        static_cast<std::uint8_t>((last_ + most_number - 1 - beats_ago) % most_number + 1)};
  }
  // What the server said. A number that is not awaited says nothing.
  void heard(std::byte answer) {
    const auto said = std::to_integer<int>(answer);
    const int beats_ago = (last_ + most_number - said) % most_number;
    if (said != 0 && beats_ago < unanswered_) unanswered_ = beats_ago;
  }
  // Whether the server, or a direction of the network, is gone: nothing that was said in so many
  // seconds has been answered.
  bool stopped() const { return unanswered_ > most_unanswered; }

 private:
  static constexpr std::uint8_t most_number = 255;
  static constexpr int most_unanswered = 6;

  std::uint8_t last_ = 0;
  int unanswered_ = 0;
};

}  // namespace gpucast::remote
