#include "gpucast/support/interrupt.h"

#include <pthread.h>

namespace gpucast::support {

Interrupt::Interrupt() {
  sigemptyset(&signals_);
  sigaddset(&signals_, SIGINT);
  sigaddset(&signals_, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals_, &mask_before_);
  // After the mask, which it inherits.
  waiter_ = std::jthread([this](const std::stop_token& ended) { wait(ended); });
}

Interrupt::~Interrupt() {
  waiter_.request_stop();
  // To the waiting thread alone, to wake it; it has the signal blocked and takes it by sigwait.
  pthread_kill(waiter_.native_handle(), SIGINT);
  waiter_.join();
  pthread_sigmask(SIG_SETMASK, &mask_before_, nullptr);
}

void Interrupt::wait(const std::stop_token& ended) {
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

}  // namespace gpucast::support
