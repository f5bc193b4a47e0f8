// A run that is interrupted ends after the step under way, with its records whole.
#pragma once

#include <pthread.h>

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
  Interrupt() {
    sigemptyset(&signals_);
    sigaddset(&signals_, SIGINT);
    sigaddset(&signals_, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &signals_, &mask_before_);
    // After the mask, which it inherits.
    waiter_ = std::jthread([this](const std::stop_token& ended) { wait(ended); });
  }
  ~Interrupt() {
    waiter_.request_stop();
    // To the waiting thread alone, to wake it; it has the signal blocked and takes it by sigwait.
    pthread_kill(waiter_.native_handle(), SIGINT);
    waiter_.join();
    pthread_sigmask(SIG_SETMASK, &mask_before_, nullptr);
  }
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  bool requested() const noexcept { return source_.stop_requested(); }
  std::stop_token token() const noexcept { return source_.get_token(); }

 private:
  void wait(const std::stop_token& ended) {
    for (;;) {
      int signal = 0;
      if (sigwait(&signals_, &signal) != 0) continue;
      if (ended.stop_requested()) return;
      if (!source_.request_stop()) {
        // The second one. Only this thread unblocks it, so it is delivered here.
        std::signal(signal, SIG_DFL);
        sigset_t only{};
        sigemptyset(&only);
        sigaddset(&only, signal);
        pthread_sigmask(SIG_UNBLOCK, &only, nullptr);
        std::raise(signal);
      }
    }
  }

  sigset_t signals_{};
  sigset_t mask_before_{};
  std::stop_source source_;
  std::jthread waiter_;
};

}  // namespace gpucast::support
