// Threads of the library's own, which take none of the program's signals.
#pragma once

#include <thread>
#include <utility>

#include "transport/blocked_signals.h"

namespace gpucast::remote::client {

template <class Body>
std::thread quiet_thread(Body body) {
  const BlockedSignals blocked;  // as the new thread inherits it
  return std::thread(std::move(body));
}

}  // namespace gpucast::remote::client
