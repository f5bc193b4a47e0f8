// Between two looks at what another process is to bring.
#pragma once

#include <chrono>
#include <thread>

namespace gpucast::remote {

// Who has looked for a moment only keeps the core: an answer through shared memory comes sooner
// than the system is asked for another thread. Others run then, if they want to.
inline void look_again(std::chrono::steady_clock::duration since) {
  constexpr std::chrono::microseconds moment(5);
  if (since > moment) return std::this_thread::yield();
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb" ::: "memory");
#endif
}

}  // namespace gpucast::remote
