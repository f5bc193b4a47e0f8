// The connections for large copies, each with a thread for either direction. Pieces wait in one
// queue, and whoever is awake takes the next: the connections' threads, and who waits for a copy to
// be sent, who need not wait for one of them to wake.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "client/pending_receives.h"
#include "protocol/calls.h"
#include "transport/connection.h"

namespace gpucast::remote::client {

class BulkConnections {
 public:
  // `lost` is called, from any of the threads, when a connection breaks. `spin`: so long who waits
  // looks before it sleeps.
  BulkConnections(std::vector<std::unique_ptr<Connection>> connections, PendingReceives& receives,
                  std::chrono::microseconds spin, std::function<void(const std::string&)> lost);
  ~BulkConnections();
  BulkConnections(const BulkConnections&) = delete;
  BulkConnections& operator=(const BulkConnections&) = delete;

  std::size_t size() const { return connections_.size(); }

  // Whether the thread that queues a copy waits until it is sent: at once, or once something else
  // has come first.
  enum class Await : std::uint8_t { nothing, at_once, later };
  // Queues the pieces; the memory has to stay as it is until they are sent. If nobody waits for
  // that, memory that cannot be read makes the transfer fail among the receives.
  void send(Id transfer, Bytes data, Await await);
  // Both call `meanwhile` now and then.
  using Meanwhile = std::function<void()>;
  // Sends what is queued up to its last piece, as far as nobody else does, and waits until it is
  // sent; cudaErrorInvalidValue if its memory could not be read.
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
    std::size_t queued = 0;            // parts that nobody has taken; under mutex_
    std::atomic<std::size_t> left{0};  // parts that are not sent
    bool waited_for = false;
    bool readable = true;
  };
  struct BulkConnection {
    std::unique_ptr<Connection> connection;
    std::condition_variable wanted;  // by its sender
    // Held by the thread that writes: the sender's or one that waits for a copy. A part is taken
    // under it, so that each connection has the parts in their order.
    std::mutex writing;
    std::vector<std::byte> head;  // under writing
    std::thread sender;
    std::thread receiver;
  };

  template <class Done>
  bool wait_until(const Meanwhile& meanwhile, Done done);
  std::optional<Part> take_part(const Sending* of = nullptr);
  void write(BulkConnection& bulk, const Part& part, const std::function<void()>& blocked = {});
  void help(const Sending& sending, const Meanwhile& meanwhile);
  void send_parts(BulkConnection& bulk);
  void sent(Id transfer, bool readable);
  void receive_pieces(BulkConnection& bulk);
  template <class Body>
  void guarded(Body body) noexcept;

  PendingReceives& receives_;
  std::chrono::microseconds spin_;
  std::function<void(const std::string&)> lost_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::atomic<bool> broken_{false};
  std::chrono::microseconds between_;  // copies, threads look for the next
  std::deque<Part> parts_;
  std::atomic<std::size_t> queued_{0};      // of these
  std::map<Id, Sending> sending_;           // whose elements stay where they are
  std::atomic<std::size_t> parts_left_{0};  // of all of them
  // Memory that was sent may be written by what comes back for it.
  std::atomic<std::uint64_t> sent_{0};
  std::vector<std::unique_ptr<BulkConnection>> connections_;
};

}  // namespace gpucast::remote::client
