// Threads of the library's own, which take none of the program's signals.
#pragma once

#include <csignal>
#include <thread>
#include <utility>

namespace gpucast::remote::client {

// Threads that begin while this stands take none of the program's signals: a program that waits for
// one, or has blocked it in its threads, counts on getting it itself.
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
  const BlockedSignals blocked;  // as the new thread inherits it
  return std::thread(std::move(body));
}

}  // namespace gpucast::remote::client
