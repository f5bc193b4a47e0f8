// A run that is interrupted ends after the step under way, with its records whole.
#pragma once

#include <csignal>
#include <stop_token>
#include <thread>

namespace gpucast::support {

// While it lives, SIGINT and SIGTERM are requests: the first sets requested(), a second one ends
// the process at once, as the signal does by default.
//
// Constructed first in main: it blocks the signals in this thread and in all that are started
// later, and only its own thread waits for them, so no handler runs inside anybody's code and no
// system call is broken off. Child processes inherit the blocked signals, too. One at a time.
class Interrupt {
 public:
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  bool requested() const noexcept { return source_.stop_requested(); }
  std::stop_token token() const noexcept { return source_.get_token(); }

 private:
  void wait(const std::stop_token& ended);

  sigset_t signals_{};
  sigset_t mask_before_{};
  std::stop_source source_;
  std::jthread waiter_;
};

}  // namespace gpucast::support
