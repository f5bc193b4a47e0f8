// An interrupted run ends after its present step, with complete records.
#pragma once

#include <pthread.h>

#include <csignal>
#include <stop_token>
#include <thread>

namespace gpucast::support {

// While this exists, SIGINT and SIGTERM are requests: the first sets requested(), a second one ends
// the process at once, which is the signal's default.
//
// It is constructed first in main: it blocks the signals in this thread and in all threads that
// start later, and only its own thread waits for them, so that no handler interrupts other code and
// no system call fails. Child processes inherit the blocked signals, too. Only one may exist at a
// time.
class Interrupt {
 public:
  Interrupt() {
    sigemptyset(&signals_);
    sigaddset(&signals_, SIGINT);
    sigaddset(&signals_, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &signals_, &mask_before_);
    // Started after blocking the signals, which it inherits.
    waiter_ = std::jthread([this](const std::stop_token& ended) { wait(ended); });
  }
  ~Interrupt() {
    waiter_.request_stop();
    // Wakes the waiting thread only; it has the signal blocked and receives it by sigwait.
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
        // The second signal: only this thread unblocks it, so that it is delivered here.
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
