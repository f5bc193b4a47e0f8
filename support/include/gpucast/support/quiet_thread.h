// A library's own threads in any program, whose signals they block.
#pragma once

#include <csignal>
#include <thread>
#include <utility>

namespace gpucast::support {

// Threads that begin while this exists block all signals: a program that waits for a signal, or has
// blocked it in its threads, expects to receive it itself.
class BlockedSignals {
 public:
  BlockedSignals() {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~BlockedSignals() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  BlockedSignals(const BlockedSignals&) = delete;
  BlockedSignals& operator=(const BlockedSignals&) = delete;

 private:
  sigset_t before_{};
};

template <class Body>
std::thread quiet_thread(Body body) {
  const BlockedSignals blocked;  // inherited by the new thread
  return std::thread(std::move(body));
}

}  // namespace gpucast::support
