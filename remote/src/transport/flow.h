// What passes over connections, counted at both ends: a connection that carries nothing any more
// looks to its own end like one whose other end has nothing to say. The two ends compare notes over
// another connection (protocol/heartbeat.h).
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

#include "transport/connection.h"

namespace gpucast::remote {

// What one end of a connection has seen from its beginning on; bytes as its users see them.
struct FlowState {
  std::uint64_t received = 0;
  // What was given it to send, whether it went out or not.
  std::uint64_t offered = 0;
  // Whether its reader asks for more and finds nothing: waits for it, or has looked since the last
  // time this was asked. Who has other things to do first asks for nothing.
  bool awaits = false;
};

// One thread reads, one writes, and one asks.
class Flow {
 public:
  void received(std::size_t bytes) { add(received_, bytes); }
  void found_nothing() { add(looks_, 1); }
  void waits(bool whether) { waits_.store(whether, std::memory_order_relaxed); }
  // `bytes` that were offered and `taken` of them.
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
  // By one thread alone, so that it takes no longer than adding.
  static void add(std::atomic<std::uint64_t>& to, std::uint64_t amount) {
    to.store(to.load(std::memory_order_relaxed) + amount, std::memory_order_relaxed);
  }

  std::atomic<std::uint64_t> received_{0};
  std::atomic<std::uint64_t> looks_{0};
  std::atomic<bool> waits_{false};
  std::atomic<std::uint64_t> offered_{0};
  std::uint64_t taken_ = 0;         // the writer's
  std::uint64_t looks_before_ = 0;  // of who asks
};

// Those of one client, by the numbers that the connections greet with. From any thread.
class Flows {
 public:
  // The connection, counted from now on under that number.
  std::unique_ptr<Connection> counted(std::uint8_t number, std::unique_ptr<Connection> connection);
  std::map<std::uint8_t, FlowState> states();

 private:
  std::mutex mutex_;
  std::map<std::uint8_t, std::shared_ptr<Flow>> flows_;
};

}  // namespace gpucast::remote
