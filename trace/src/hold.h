// Keeps the program's thread at the beginning of a call for a moment.
//
// CUPTI numbers the calls of a thread by a stack. A call that is under way while the records of its
// function are turned off leaves its number there, and all later calls of the thread bear it (seen
// on an H200 with CUPTI 13.0: in 7 of 20 programs, each at such a moment). So functions are turned
// on and off while the program's only thread is at the beginning of a call that is recorded before
// and after: of one that may wait.
//
// The thread waits in a callback of CUPTI's, which may hold locks of its own; so it goes on by
// itself when it has waited long, and nothing is held again.
#pragma once

#include <cupti.h>

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>

namespace gpucast::trace {

class Hold {
 public:
  using Time = std::chrono::nanoseconds;

  // `longest`: that a thread is kept.
  explicit Hold(Time longest) : longest_(longest) {}

  // Whether a thread came within `patience`; then `change` was made while it was kept. `listen`
  // turns on, with true, that `arrive` is called, and off; both are ours to call.
  bool during(const std::function<void(bool)>& listen, const std::function<void()>& change,
              Time patience);

  // A thread of the program begins such a call.
  void arrive();

 private:
  enum class State { idle, wanted, held };

  Time longest_;
  std::mutex mutex_;
  std::condition_variable changed_;
  State state_ = State::idle;
  bool failed_ = false;  // a thread went on by itself
};

}  // namespace gpucast::trace
