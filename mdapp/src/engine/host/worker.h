// A thread that does what it is given, in order.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>

namespace gpucast::mdapp::host {

class Worker {
 public:
  Worker();
  ~Worker();  // does the rest first
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // Once an operation has failed, those behind it are left out, but for the ones that others wait
  // for (`always`).
  enum class When { unless_failed, always };
  void queue(std::function<void()> operation, When when = When::unless_failed);

  // Until all that was queued is done; throws what the first failed operation threw, now and ever
  // after.
  void wait();
  // The same, but throws nothing.
  void finish() noexcept;

 private:
  struct Entry {
    std::function<void()> operation;
    When when;
  };

  void run();
  void do_next();

  std::mutex mutex_;
  std::deque<Entry> entries_;
  std::exception_ptr failure_;  // written by the thread, read after waiting for it
  // 32 bits, which the kernel can wait on; they may wrap.
  std::atomic<std::uint32_t> queued_{0};
  std::atomic<std::uint32_t> done_{0};
  std::atomic<bool> stop_{false};
  std::thread thread_;  // last: it uses the rest
};

}  // namespace gpucast::mdapp::host
