// The connections for large copies, each with a thread for either direction. Pieces wait in one
// queue, and the first thread that is awake takes the next one: a thread of a connection, or the
// thread that waits for the copy, which then need not wait for another thread to wake up.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "client/pending_receives.h"
#include "client/status.h"
#include "gpucast/support/quiet_thread.h"
#include "protocol/calls.h"
#include "protocol/inbox.h"
#include "transport/connection.h"
#include "transport/patience.h"

namespace gpucast::remote::client {

class BulkConnections {
 public:
  // `lost` is called, from any of the threads, when a connection breaks. `spin`: how long a waiting
  // thread polls before it sleeps.
  BulkConnections(std::vector<std::unique_ptr<Connection>> connections, PendingReceives& receives,
                  std::chrono::microseconds spin, std::function<void(const std::string&)> lost)
      : receives_(receives),
        spin_(spin),
        lost_(std::move(lost)),
        between_(between_copies(std::thread::hardware_concurrency())) {
    for (auto& connection : connections) {
      connections_.push_back(std::make_unique<BulkConnection>());
      connections_.back()->connection = std::move(connection);
    }
    for (const auto& bulk : connections_) {
      BulkConnection& its = *bulk;
      its.sender = support::quiet_thread([this, &its] { guarded([&] { send_parts(its); }); });
      its.receiver = support::quiet_thread([this, &its] { guarded([&] { receive_pieces(its); }); });
    }
  }
  ~BulkConnections() {
    shut_down();
    join();
  }

  std::size_t size() const { return connections_.size(); }

  // Whether the thread that queues a copy waits until it is sent: immediately, or after it has
  // waited for something else.
  enum class Await : std::uint8_t { nothing, at_once, later };
  // Queues the pieces; the memory has to stay unchanged until they are sent. If nobody waits for
  // that, unreadable memory makes the transfer fail among the receives.
  void send(Id transfer, Bytes data, Await await) {
    const bool waited_for = await != Await::nothing;
    const std::lock_guard lock(mutex_);
    Sending& sending = sending_[transfer];
    sending.waited_for = waited_for;
    const std::size_t most = piece_of(data.size(), connections_.size());
    for (std::size_t offset = 0; offset < data.size(); offset += most) {
      const Bytes part = data.subspan(offset, std::min(most, data.size() - offset));
      parts_.push_back({.piece = {.transfer = transfer,
                                  .offset = offset,
                                  .bytes = static_cast<std::uint32_t>(part.size())},
                        .data = part});
      ++sending.queued;
    }
    sending.left = sending.queued;
    parts_left_ += sending.queued;
    queued_ += sending.queued;
    // The waiting thread begins with one of the connections at once.
    const std::size_t first = await == Await::at_once ? 1 : 0;
    for (std::size_t k = first; k < connections_.size() && k < sending.queued; ++k)
      connections_[k]->wanted.notify_one();
  }
  // Both call `meanwhile` from time to time.
  using Meanwhile = std::function<void()>;
  // Sends the queue up to the transfer's last piece, unless other threads do, and waits until it is
  // sent. Returns cudaErrorInvalidValue if its memory could not be read.
  Status wait_until_sent(Id transfer, const Meanwhile& meanwhile) {
    Sending* sending = nullptr;
    {
      const std::lock_guard lock(mutex_);
      sending = &sending_.at(transfer);
    }
    help(*sending, meanwhile);
    const bool whole = wait_until(meanwhile, [&] { return sending->left == 0; });
    const std::lock_guard lock(mutex_);
    const bool readable = sending->readable;
    sending_.erase(transfer);
    if (!whole) return status_lost;
    return readable ? 0 : status_bad_memory;
  }
  // Waits until everything that was queued is sent; returns false if the connections broke.
  bool wait_until_sent(const Meanwhile& meanwhile) {
    return wait_until(meanwhile, [&] { return parts_left_ == 0; });
  }
  void shut_down() noexcept {
    const std::lock_guard lock(mutex_);
    broken_ = true;
    for (const auto& bulk : connections_) {
      bulk->connection->shut_down();
      bulk->wanted.notify_all();
    }
    changed_.notify_all();
  }
  // To be called after that: waits until none of the threads runs.
  void join() noexcept {
    for (const auto& bulk : connections_) {
      for (std::thread* thread : {&bulk->sender, &bulk->receiver})
        if (thread->joinable()) thread->join();
    }
  }

 private:
  struct Part {
    Piece piece;
    Bytes data;
  };
  struct Sending {
    std::size_t queued = 0;            // parts that no thread has taken; under mutex_
    std::atomic<std::size_t> left{0};  // parts that are not sent
    bool waited_for = false;
    bool readable = true;
  };
  struct BulkConnection {
    std::unique_ptr<Connection> connection;
    std::condition_variable wanted;  // wakes its sender
    // Held by the thread that writes, which is the sender or a thread that waits for a copy. Parts
    // are taken under it, so that each connection sends its parts in order.
    std::mutex writing;
    std::vector<std::byte> head;  // under writing
    std::thread sender;
    std::thread receiver;
  };

  template <class Done>
  bool wait_until(const Meanwhile& meanwhile, Done done) {
    const auto over = [&] { return broken_ || done(); };
    if (!look_for(spin_, meanwhile, over)) {
      constexpr std::chrono::milliseconds moment(1);
      std::unique_lock lock(mutex_);
      while (!changed_.wait_for(lock, moment, over)) {
        lock.unlock();
        meanwhile();
        lock.lock();
      }
    }
    return done();
  }
  // Takes the next part of the queue; returns nothing if the queue is empty, or if no part of the
  // copy `wanted` is left in it.
  std::optional<Part> take_part(const Sending* wanted = nullptr) {
    const std::lock_guard lock(mutex_);
    if (broken_ || parts_.empty() || (wanted != nullptr && wanted->queued == 0))
      return std::nullopt;
    Part part = parts_.front();
    parts_.pop_front();
    --queued_;
    --sending_.at(part.piece.transfer).queued;
    return part;
  }
  void write(BulkConnection& bulk, const Part& part, const std::function<void()>& blocked = {}) {
    bulk.head.clear();
    Writer writer(bulk.head);
    writer(part.piece);
    const bool readable = write_all_or_zeros(*bulk.connection, bulk.head, part.data, blocked);
    sent_.fetch_add(1, std::memory_order_release);
    sent(part.piece.transfer, readable);
  }
  // Sends parts in the waiting thread, over a connection whose sender is not writing.
  void help(const Sending& sending, const Meanwhile& meanwhile) {
    for (const auto& bulk : connections_) {
      const std::unique_lock writing(bulk->writing, std::try_to_lock);
      if (!writing) continue;
      const auto blocked = [&] {
        meanwhile();
        constexpr std::chrono::milliseconds moment(1);
        bulk->connection->wait({.write = true}, Clock::now() + moment);
      };
      while (const auto part = take_part(&sending))
        write(*bulk, *part, blocked);
      // A part of another copy is left because this thread found no free connection.
      const std::lock_guard lock(mutex_);
      if (!parts_.empty()) bulk->wanted.notify_one();
      return;
    }
  }
  void send_parts(BulkConnection& bulk) {
    for (auto patience = std::chrono::microseconds(0);; patience = between_) {
      look_for(patience, [&] { return broken_ || queued_ != 0; });
      {
        std::unique_lock lock(mutex_);
        bulk.wanted.wait(lock, [&] { return broken_ || !parts_.empty(); });
      }
      if (broken_) return;
      const std::lock_guard writing(bulk.writing);
      while (const auto part = take_part())
        write(bulk, *part);
    }
  }
  void sent(Id transfer, bool readable) {
    const std::lock_guard lock(mutex_);
    --parts_left_;
    Sending* const sending = value_at(sending_, transfer);
    if (sending == nullptr) return;  // the waiting thread has seen the connections break
    if (!readable) sending->readable = false;
    if (--sending->left != 0) return;
    if (!sending->waited_for) {
      if (!sending->readable) receives_.note_failure(status_bad_memory);
      sending_.erase(transfer);
    }
    changed_.notify_all();
  }
  void receive_pieces(BulkConnection& bulk) {
    for (auto patience = std::chrono::microseconds(0);; patience = between_) {
      const auto piece = read_message<Piece>(*bulk.connection, std::nullopt, patience);
      sent_.load(std::memory_order_acquire);
      if (piece.status != 0) {
        receives_.failed(piece.transfer, piece.status);
        continue;
      }
      PendingReceives::Landing landing(receives_, piece.transfer, piece.offset, piece.bytes);
      if (landing.to() != nullptr) {
        if (!read_all_or_drop(*bulk.connection, {landing.to(), piece.bytes}, within_a_copy))
          receives_.failed(piece.transfer, status_bad_memory);
        landing.done();
      } else {
        // Another piece of this transfer has failed before.
        if (piece.bytes > piece_bytes) throw ProtocolError("a piece is too long");
        std::vector<std::byte> dropped(piece.bytes);
        read_all(*bulk.connection, dropped);
      }
    }
  }
  template <class Body>
  void guarded(Body body) noexcept {
    try {
      body();
    } catch (const std::exception& error) {
      if (!broken_) lost_(error.what());
    }
  }

  PendingReceives& receives_;
  std::chrono::microseconds spin_;
  std::function<void(const std::string&)> lost_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::atomic<bool> broken_{false};
  std::chrono::microseconds between_;  // how long threads poll for the next copy
  std::deque<Part> parts_;
  std::atomic<std::size_t> queued_{0};      // of these
  std::map<Id, Sending> sending_;           // elements keep their addresses
  std::atomic<std::size_t> parts_left_{0};  // of all of them
  // Data that was sent may be overwritten by the answer.
  std::atomic<std::uint64_t> sent_{0};
  std::vector<std::unique_ptr<BulkConnection>> connections_;
};

}  // namespace gpucast::remote::client
