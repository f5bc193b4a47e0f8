#include "gpucast/devices/host/worker.h"

#include <new>
#include <utility>

#include "gpucast/support/errors.h"

namespace gpucast::devices::host {
namespace {

// Number of polls before sleeping: waking a thread takes microseconds, which would dominate short
// steps. Each poll yields the core, so that nobody is held up on a busy machine.
constexpr int looks = 200;

}  // namespace

Worker::Worker(std::string name) : name_(std::move(name)), thread_([this] { run(); }) {}

Worker::~Worker() {
  stop_.store(true, std::memory_order_release);
  queue([] {}, When::always);  // wakes it up
  thread_.join();
}

void Worker::queue(std::function<void()> operation, When when) {
  {
    const std::lock_guard lock(mutex_);
    entries_.push_back({std::move(operation), when});
    queued_.fetch_add(1, std::memory_order_release);
  }
  more_queued_.notify_one();
}

void Worker::wait() {
  wait_quietly();
  if (!failure_.empty()) throw support::DeviceError(name_ + ": " + failure_);
}

void Worker::wait_quietly() noexcept {
  const std::uint32_t all = queued_.load(std::memory_order_acquire);
  for (std::uint32_t done = done_.load(std::memory_order_acquire); done != all;
       done = done_.load(std::memory_order_acquire)) {
    wait_while(done_, done, more_done_);
  }
}

void Worker::run() {
  for (;;) {
    const std::uint32_t done = done_.load(std::memory_order_relaxed);
    if (queued_.load(std::memory_order_acquire) == done) {
      if (stop_.load(std::memory_order_acquire)) return;
      wait_while(queued_, done, more_queued_);
      continue;
    }
    do_next();
    {
      const std::lock_guard lock(mutex_);
      done_.store(done + 1, std::memory_order_release);
    }
    more_done_.notify_all();
  }
}

void Worker::wait_while(const std::atomic<std::uint32_t>& count, std::uint32_t old,
                        std::condition_variable& changed) {
  for (int k = 0; k < looks; ++k) {
    if (count.load(std::memory_order_acquire) != old) return;
    std::this_thread::yield();
  }
  std::unique_lock lock(mutex_);
  changed.wait(lock, [&] { return count.load(std::memory_order_acquire) != old; });
}

void Worker::do_next() {
  Entry entry;
  {
    const std::lock_guard lock(mutex_);
    entry = std::move(entries_.front());
    entries_.pop_front();
  }
  if (!failure_.empty() && entry.when == When::unless_failed) return;
  try {
    entry.operation();
  } catch (const std::bad_alloc&) {
    if (failure_.empty()) failure_ = "out of memory";
  } catch (const std::exception& error) {
    if (failure_.empty()) failure_ = error.what();
  }
}

}  // namespace gpucast::devices::host
