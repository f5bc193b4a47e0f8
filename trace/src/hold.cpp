#include "hold.h"

namespace gpucast::trace {

bool Hold::during(const std::function<void(bool)>& listen, const std::function<void()>& change,
                  Time patience) {
  std::unique_lock lock(mutex_);
  if (failed_) return false;
  lock.unlock();
  listen(true);
  lock.lock();
  state_ = State::wanted;
  const bool held = changed_.wait_for(lock, patience, [&] { return state_ == State::held; });
  if (held) {
    lock.unlock();
    change();
    lock.lock();
  }
  state_ = State::idle;
  lock.unlock();
  changed_.notify_all();
  listen(false);
  return held;
}

void Hold::arrive() {
  std::unique_lock lock(mutex_);
  if (state_ != State::wanted) return;
  state_ = State::held;
  changed_.notify_all();
  if (changed_.wait_for(lock, longest_, [&] { return state_ == State::idle; })) return;
  state_ = State::idle;
  failed_ = true;
}

}  // namespace gpucast::trace
