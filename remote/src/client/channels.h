// The connections for large copies, each with a thread for either direction.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "client/arrivals.h"
#include "protocol/calls.h"
#include "transport/connection.h"

namespace gpucast::remote {

class Channels {
 public:
  // `lost` is called, from any of the threads, when a connection breaks.
  Channels(std::vector<std::unique_ptr<Connection>> connections, Arrivals& arrivals,
           std::function<void(const std::string&)> lost);
  ~Channels();
  Channels(const Channels&) = delete;
  Channels& operator=(const Channels&) = delete;

  // Queues the pieces; the memory has to stay as it is until they are sent.
  void send(Id transfer, Bytes data);
  // Until all that was queued is sent; false if the connections broke.
  bool wait_until_sent();
  void shut_down() noexcept;

 private:
  struct Part {
    Piece piece;
    Bytes data;
  };
  struct Channel {
    std::unique_ptr<Connection> connection;
    std::deque<Part> parts;
    std::thread sender;
    std::thread receiver;
  };

  void send_parts(Channel& channel);
  void receive_pieces(Channel& channel);
  template <class Body>
  void guarded(Body body) noexcept;

  Arrivals& arrivals_;
  std::function<void(const std::string&)> lost_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool broken_ = false;
  std::size_t unsent_ = 0;
  // Memory that was sent may be written by what comes back for it.
  std::atomic<std::uint64_t> sent_{0};
  std::vector<std::unique_ptr<Channel>> channels_;
};

}  // namespace gpucast::remote
