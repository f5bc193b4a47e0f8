// Counts the traffic of connections at both ends: a broken connection looks to its own end like one
// whose other end has nothing to send. The two ends compare their counts over another connection
// (protocol/heartbeat.h).
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

#include "transport/connection.h"

namespace gpucast::remote {

// One end's view of a connection since its beginning; bytes before encryption.
struct FlowState {
  std::uint64_t received = 0;
  // Bytes that were given to it to send, whether they were sent or not.
  std::uint64_t offered = 0;
  // Whether its reader wants more and finds nothing: it waits, or has looked since the last time
  // this was called. A reader that does other work first wants nothing.
  bool awaits = false;
};

// One thread reads, one writes, and one calls state().
class Flow {
 public:
  void received(std::size_t bytes) { add(received_, bytes); }
  void found_nothing() { add(looks_, 1); }
  void waits(bool whether) { waits_.store(whether, std::memory_order_relaxed); }
  // `bytes` were offered, and `taken` of them were accepted.
  void offered(std::size_t bytes) { offered_.store(taken_ + bytes, std::memory_order_relaxed); }
  void taken(std::size_t bytes) { taken_ += bytes; }

  FlowState state() {
    const std::uint64_t looks = looks_.load(std::memory_order_relaxed);
    const bool looked = looks != looks_before_;
    looks_before_ = looks;
    return {.received = received_.load(std::memory_order_relaxed),
            .offered = offered_.load(std::memory_order_relaxed),
            .awaits = looked || waits_.load(std::memory_order_relaxed)};
  }

 private:
  // Only one thread adds, so that no atomic addition is needed.
  static void add(std::atomic<std::uint64_t>& to, std::uint64_t amount) {
    to.store(to.load(std::memory_order_relaxed) + amount, std::memory_order_relaxed);
  }

  std::atomic<std::uint64_t> received_{0};
  std::atomic<std::uint64_t> looks_{0};
  std::atomic<bool> waits_{false};
  std::atomic<std::uint64_t> offered_{0};
  std::uint64_t taken_ = 0;         // used by the writer
  std::uint64_t looks_before_ = 0;  // used by the caller of state()
};

// The connections of one client, by the numbers in their greetings. May be used from any thread.
class Flows {
 public:
  // Returns the connection, which is now counted under that number.
  std::unique_ptr<Connection> counted(std::uint8_t number, std::unique_ptr<Connection> connection);
  std::map<std::uint8_t, FlowState> states();

 private:
  std::mutex mutex_;
  std::map<std::uint8_t, std::shared_ptr<Flow>> flows_;
};

}  // namespace gpucast::remote
