// Threads of the library's own, which take none of the program's signals: a program that waits for
// one, or has blocked it in its threads, counts on getting it itself.
#pragma once

#include <csignal>
#include <thread>
#include <utility>

namespace gpucast::remote::client {

template <class Body>
std::thread quiet_thread(Body body) {
  struct Blocked {
    Blocked() {
      sigset_t all;
      ::sigfillset(&all);
      ::pthread_sigmask(SIG_SETMASK, &all, &before);
    }
    ~Blocked() { ::pthread_sigmask(SIG_SETMASK, &before, nullptr); }
    Blocked(const Blocked&) = delete;
    Blocked& operator=(const Blocked&) = delete;
    sigset_t before{};
  };
  const Blocked blocked;  // as the new thread inherits it
  return std::thread(std::move(body));
}

}  // namespace gpucast::remote::client
