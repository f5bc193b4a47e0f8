#include "fake/queues.h"

#include <exception>
#include <future>
#include <utility>

namespace gpucast::fake {

struct Operation {
  std::uint64_t number = 0;
  std::function<void()> body;
  std::size_t waits_for = 0;
  std::vector<Work> next;  // work that waits for this
  bool done = false;
};

Queues::~Queues() {
  wait_for_all();
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
    wanted_.notify_all();
  }
  for (std::thread& thread : threads_)
    thread.join();
}

void Queues::follow(const Work& work, const Work& before) {
  if (!before || before->done) return;
  before->next.push_back(work);
  ++work->waits_for;
}

Work Queues::queue(Stream& stream, std::function<void()> body, const Work& also) {
  const std::lock_guard lock(mutex_);
  auto work = std::make_shared<Operation>();
  work->number = ++queued_;
  work->body = std::move(body);
  unfinished_.insert(work->number);
  follow(work, stream.last);
  follow(work, also);
  if (&stream == &legacy_) {
    for (const auto& [key, last] : blocking_)
      follow(work, last);
    blocking_.clear();
  } else if (stream.blocking) {
    follow(work, legacy_.last);
    // The new stream may have the address of a destroyed one that still has work.
    Work& last = blocking_[&stream];
    follow(work, last);
    last = work;
  }
  stream.last = work;
  if (work->waits_for == 0) start(work);
  return work;
}

Work Queues::last(const Stream& stream) const {
  const std::lock_guard lock(mutex_);
  return stream.last;
}

bool Queues::done(const Work& work) const {
  const std::lock_guard lock(mutex_);
  return !work || work->done;
}

void Queues::wait(const Work& work) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return !work || work->done; });
}

void Queues::wait_for_all() {
  std::unique_lock lock(mutex_);
  const std::uint64_t all = queued_;
  changed_.wait(lock, [&] { return unfinished_.empty() || *unfinished_.begin() > all; });
}

CUresult Queues::failure() const {
  const std::lock_guard lock(mutex_);
  return failure_;
}

void Queues::start(const Work& work) {
  ready_.push_back(work);
  if (idle_ < ready_.size()) {
    // The thread runs before this returns: if the process ends while a thread is being created,
    // LeakSanitizer cannot follow it.
    std::promise<void> running;
    const std::future<void> is_running = running.get_future();
    threads_.emplace_back([this, running = std::move(running)]() mutable {
      running.set_value();
      this->work();
    });
    is_running.wait();
  } else {
    wanted_.notify_one();
  }
}

void Queues::finish(const Work& work) {
  work->done = true;
  unfinished_.erase(work->number);
  for (const Work& waiting : std::exchange(work->next, {}))
    if (--waiting->waits_for == 0) start(waiting);
  changed_.notify_all();
}

void Queues::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    ++idle_;
    wanted_.wait(lock, [&] { return stop_ || !ready_.empty(); });
    --idle_;
    if (ready_.empty()) return;
    const Work next = std::move(ready_.front());
    ready_.pop_front();
    if (failure_ == CUDA_SUCCESS) {
      lock.unlock();
      CUresult status = CUDA_SUCCESS;
      try {
        next->body();
      } catch (const std::exception&) {
        status = CUDA_ERROR_ILLEGAL_ADDRESS;
      }
      lock.lock();
      if (status != CUDA_SUCCESS) failure_ = status;
    }
    next->body = nullptr;
    finish(next);
  }
}

}  // namespace gpucast::fake
