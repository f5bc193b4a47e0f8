// Looks again and again, and lets other threads go first, before it is worth sleeping: to wake a
// thread takes longer than most waits last.
#pragma once

#include <chrono>
#include <thread>

#include "transport/connection.h"

namespace gpucast::remote {

// Between two looks at what another process is to bring. Who has looked for a moment only keeps the
// core: an answer through shared memory comes sooner than the system is asked for another thread.
// Others run then, if they want to.
inline void look_again(std::chrono::steady_clock::duration since) {
  constexpr std::chrono::microseconds moment(5);
  if (since > moment) return std::this_thread::yield();
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb" ::: "memory");
#endif
}

// True once `done` is; false where that took longer. `meanwhile` is called every 100 us.
template <class Meanwhile, class Done>
bool look_for(std::chrono::microseconds longest, const Meanwhile& meanwhile, Done done) {
  if (done()) return true;
  constexpr std::chrono::microseconds moment(100);
  const auto begin = Clock::now();
  auto next = begin + moment;
  for (auto now = begin; now - begin < longest; now = Clock::now()) {
    look_again(now - begin);
    if (done()) return true;
    if (now < next) continue;
    meanwhile();
    next = now + moment;
  }
  return false;
}
template <class Done>
bool look_for(std::chrono::microseconds longest, Done done) {
  return look_for(longest, [] {}, done);
}

// So long the rest of a piece is looked for, whose beginning has come: the other end is writing it.
inline constexpr std::chrono::microseconds within_a_copy(50);

}  // namespace gpucast::remote
