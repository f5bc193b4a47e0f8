// What each entry point of the CUDA runtime used: calls, round trips, bytes, time.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <string_view>

namespace gpucast::remote::client {

struct Counter {
  explicit Counter(std::string entry) : name(std::move(entry)) {}
  std::string name;
  std::atomic<std::uint64_t> calls{0};
  std::atomic<std::uint64_t> round_trips{0};
  std::atomic<std::uint64_t> bytes_sent{0};  // of messages and of bulk data
  std::atomic<std::uint64_t> bytes_received{0};
  std::atomic<std::uint64_t> nanoseconds{0};
};

class Counters {
 public:
  // Returns the counter of the name, which lives as long as this object.
  Counter& of(std::string_view name);
  // Writes the report to `where` (settings.h); does nothing if that is empty.
  void report(const std::string& where) const;

 private:
  mutable std::mutex mutex_;
  std::deque<Counter> all_;
};

// The counter of the entry point that this thread is in; nullptr in the client's own threads.
Counter*& current_counter();
void count(std::atomic<std::uint64_t> Counter::* what, std::uint64_t amount);

// Counts one call and the time until the object is destroyed. A nested call counts for the outer
// one.
class Counted {
 public:
  explicit Counted(Counter& counter)
      : outer_(current_counter()), counter_(counter), begin_(std::chrono::steady_clock::now()) {
    if (outer_ == nullptr) current_counter() = &counter;
  }
  ~Counted() {
    if (outer_ != nullptr) return;
    current_counter() = nullptr;
    const auto taken = std::chrono::steady_clock::now() - begin_;
    counter_.calls.fetch_add(1, std::memory_order_relaxed);
    counter_.nanoseconds.fetch_add(
        static_cast<std::uint64_t>(
            std::chrono::duration_cast<std::chrono::nanoseconds>(taken).count()),
        std::memory_order_relaxed);
  }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;

 private:
  Counter* outer_;
  Counter& counter_;
  std::chrono::steady_clock::time_point begin_;
};

}  // namespace gpucast::remote::client
