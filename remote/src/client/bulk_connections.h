// The connections for large copies, each with a thread for either direction.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "client/pending_receives.h"
#include "protocol/calls.h"
#include "transport/connection.h"

namespace gpucast::remote::client {

class BulkConnections {
 public:
  // `lost` is called, from any of the threads, when a connection breaks.
  BulkConnections(std::vector<std::unique_ptr<Connection>> connections, PendingReceives& receives,
                  std::function<void(const std::string&)> lost);
  ~BulkConnections();
  BulkConnections(const BulkConnections&) = delete;
  BulkConnections& operator=(const BulkConnections&) = delete;

  // Queues the pieces; the memory has to stay as it is until they are sent. If nobody is to wait
  // for that, memory that cannot be read makes the transfer fail among the receives.
  void send(Id transfer, Bytes data, bool waited_for);
  // Both call `meanwhile` now and then.
  using Meanwhile = std::function<void()>;
  // Waits until it is sent; cudaErrorInvalidValue if its memory could not be read.
  Status wait_until_sent(Id transfer, const Meanwhile& meanwhile);
  // Waits until all that was queued is sent; false if the connections broke.
  bool wait_until_sent(const Meanwhile& meanwhile);
  void shut_down() noexcept;
  // Waits, after that, until none of the threads runs.
  void join() noexcept;

 private:
  struct Part {
    Piece piece;
    Bytes data;
  };
  struct Sending {
    std::size_t parts = 0;
    bool waited_for = false;
    bool readable = true;
  };
  struct BulkConnection {
    std::unique_ptr<Connection> connection;
    std::deque<Part> parts;
    std::thread sender;
    std::thread receiver;
  };

  template <class Done>
  void wait_until(std::unique_lock<std::mutex>& lock, const Meanwhile& meanwhile, Done done);
  void send_parts(BulkConnection& bulk);
  void sent(Id transfer, bool readable);
  void receive_pieces(BulkConnection& bulk);
  template <class Body>
  void guarded(Body body) noexcept;

  PendingReceives& receives_;
  std::function<void(const std::string&)> lost_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool broken_ = false;
  std::map<Id, Sending> sending_;
  // Memory that was sent may be written by what comes back for it.
  std::atomic<std::uint64_t> sent_{0};
  std::vector<std::unique_ptr<BulkConnection>> connections_;
};

}  // namespace gpucast::remote::client
