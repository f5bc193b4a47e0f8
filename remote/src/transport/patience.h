// Polls repeatedly, and lets other threads run first, before sleeping is worthwhile: waking a
// thread takes longer than most waits last.
#pragma once

#include <chrono>
#include <thread>

#include "transport/connection.h"

namespace gpucast::remote {

// Pauses between two looks for another process's data. For the first moment it keeps the core,
// since an answer through shared memory comes sooner than a switch to another thread and back.
// After that other threads may run.
inline void look_again(std::chrono::steady_clock::duration since) {
  constexpr std::chrono::microseconds moment(5);
  if (since > moment) return std::this_thread::yield();
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb" ::: "memory");
#endif
}

// Returns true once `done` is true; false after a timeout. `meanwhile` is called every 100 us.
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

// How long to poll for the rest of a piece whose beginning has arrived: the other end is writing
// it.
inline constexpr std::chrono::microseconds within_a_copy(50);

}  // namespace gpucast::remote
