// A thread that runs queued operations in order.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace gpucast::devices::host {

class Worker {
 public:
  // `name` precedes error messages.
  explicit Worker(std::string name);
  ~Worker();  // does the rest first
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // After a failed operation, later ones are skipped, except those that others wait for (`always`).
  enum class When { unless_failed, always };
  void queue(std::function<void()> operation, When when = When::unless_failed);

  // Waits until all queued operations are finished. Throws DeviceError with the error of the first
  // failed operation, now and every later time.
  void wait();
  // For destructors: the error was thrown where the work was waited for.
  void wait_quietly() noexcept;

 private:
  struct Entry {
    std::function<void()> operation;
    When when = When::always;
  };

  void run();
  void do_next();
  void wait_while(const std::atomic<std::uint32_t>& count, std::uint32_t old,
                  std::condition_variable& changed);

  std::string name_;
  std::mutex mutex_;
  std::deque<Entry> entries_;
  std::string failure_;  // written by the thread, read after waiting for it
  // Counts may wrap around. They change under the mutex, so that a thread that goes to sleep after
  // seeing the old one does not miss the new one; polling needs no mutex.
  std::atomic<std::uint32_t> queued_{0};
  std::atomic<std::uint32_t> done_{0};
  std::atomic<bool> stop_{false};
  std::condition_variable more_queued_, more_done_;
  std::thread thread_;  // last: it uses the rest
};

using Workers = std::vector<std::unique_ptr<Worker>>;

}  // namespace gpucast::devices::host
