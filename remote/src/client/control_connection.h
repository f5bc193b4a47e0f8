// The ordered connection to one server. Any thread may send and ask. The thread that waits for an
// answer reads the connection for all that wait, so that no thread has to be woken to pass an
// answer on.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "client/counters.h"
#include "client/pending_receives.h"
#include "protocol/calls.h"
#include "protocol/inbox.h"
#include "transport/connection.h"
#include "transport/patience.h"

namespace gpucast::remote::client {

struct Answered {
  Status status = 0;
  std::vector<std::byte> body = {};  // the fields of the Result, with a tail for some
};

class ControlConnection {
 public:
  ControlConnection(std::unique_ptr<Connection> connection, PendingReceives& receives,
                    std::chrono::microseconds spin)
      : connection_(std::move(connection)), receives_(receives), spin_(spin) {}

  // These functions throw ConnectionLost or ProtocolError once the server is lost, and BadMemory if
  // the tail cannot be read: then zeros have been sent, since the message had begun.

  // `queued`, if given, is called in the order in which messages are sent.
  template <class Message>
  void send(const Message& message, const std::function<void()>& queued = {}) {
    const std::lock_guard lock(sending_);
    if (queued) queued();
    if (!put(message, 0)) throw_bad_memory();
  }

  // Waits for the answer. `queued` may still change the message. An answer that consists of a tail
  // alone may be stored `into` its destination; ProtocolError if its size differs.
  template <class Message>
  Answered call(const Message& message, const std::function<void()>& queued = {},
                std::optional<std::span<std::byte>> into = {}) {
    Waiting waiting(*this);
    waiting.into = into;
    bool readable = true;
    {
      const std::lock_guard lock(sending_);
      if (queued) queued();
      waiting.expect(next_request());
      readable = put(message, waiting.request);
    }
    count(&Counter::round_trips, 1);
    read_until([&] { return waiting.done; });
    if (!readable) throw_bad_memory();
    return std::move(waiting.answer);
  }

  // Waits until the selected data that this connection brings has arrived.
  void read_receives(const Which& which) {
    if (!receives_.none_over_control(which))
      read_until([&] { return receives_.none_over_control(which); });
  }

  void read_until(const std::function<bool()>& done) {
    std::unique_lock lock(reading_);
    while (!done())
      if (being_read_)
        read_.wait(lock);
      else
        read_batch(lock, true);
  }
  Notices notices;

  bool shares_memory() const { return connection_->shares_memory(); }
  // Sends the memory with the next message; called when that is queued.
  void give(const SharedMemory& memory) { connection_->give(memory); }

  // Reads incoming data unless another thread does. Threads that wait for something else call this,
  // since a server that cannot send accepts no more messages.
  void read_meanwhile() {
    std::unique_lock lock(reading_);
    if (!being_read_) read_batch(lock, false);
  }

  // Returns the first failure of a message without request since the last call of this function, or
  // 0.
  Status take_latched() { return latched_.exchange(0); }

  // May be called from any thread: wakes all that wait.
  void shut_down() noexcept {
    lost_ = true;
    connection_->shut_down();
  }

 private:
  // A waiting call, which the reading thread knows as long as it exists.
  struct Waiting {
    explicit Waiting(ControlConnection& waiting_for) : control(waiting_for) {}
    ~Waiting() {
      const std::lock_guard lock(control.reading_);
      if (!done) control.waiting_.erase(request);
    }
    Waiting(const Waiting&) = delete;
    Waiting& operator=(const Waiting&) = delete;
    void expect(std::uint32_t its_request) {
      const std::lock_guard lock(control.reading_);
      request = its_request;
      control.waiting_[request] = this;
    }

    ControlConnection& control;
    std::uint32_t request = 0;
    bool done = false;  // under reading_
    std::optional<std::span<std::byte>> into;
    Answered answer;
  };

  template <class Message>
  bool put(const Message& message, std::uint32_t request) {
    out_.clear();
    encode(out_, message, request);
    const Bytes tail = tail_of(message);
    count(&Counter::bytes_sent, out_.size() + tail.size());
    return write(out_, tail);
  }
  [[noreturn]] static void throw_bad_memory() { throw BadMemory("memory that cannot be read"); }
  std::uint32_t next_request() {
    if (++last_request_ == 0) ++last_request_;
    return last_request_;
  }
  // Returns false if `second` cannot be read. A thread that waits to write reads meanwhile.
  bool write(Bytes first, Bytes second) {
    return write_all_or_zeros(*connection_, first, second, [this] {
      if (lost_) throw ConnectionLost("the connection is closed");
      read_meanwhile();
      constexpr std::chrono::milliseconds while_another_reads(1);
      connection_->wait({.read = false, .write = true}, Clock::now() + while_another_reads);
    });
  }
  // Reads and handles incoming messages, and waits for them if it `may_wait`; the lock is released
  // meanwhile.
  void read_batch(std::unique_lock<std::mutex>& lock, bool may_wait) {
    being_read_ = true;
    lock.unlock();
    const auto stop = [&] {
      lock.lock();
      being_read_ = false;
      read_.notify_all();
    };
    try {
      const auto begin = Clock::now();
      while (!read_now() && may_wait)
        if (const auto since = Clock::now() - begin; since < spin_)
          look_again(since);
        else
          connection_->wait({.read = true}, std::nullopt);
      while (const auto received = inbox_.front()) {
        take(received->header, received->payload);
        inbox_.pop(*received);
      }
    } catch (...) {
      lost_ = true;
      stop();
      throw;
    }
    stop();
  }
  bool read_now() {
    if (lost_) throw ConnectionLost("the connection is closed");
    return inbox_.read(*connection_);
  }
  void take(const Header& header, Bytes payload) {
    count(&Counter::bytes_received, Header::size + payload.size());
    if (header.call == Call::data) {
      const auto [transfer, status, tail] = decode<Data>(payload);
      if (tail.data.empty() && notices.take(transfer, status)) return;
      if (status != 0) return receives_.failed(transfer, status);
      PendingReceives::Landing landing(receives_, transfer, 0, tail.data.size());
      // If the server sends fewer bytes than were asked for, the rest will never follow.
      if (landing.to() == nullptr || !landing.is_whole())
        throw ProtocolError("the server sent data that was not requested");
      std::ranges::copy(tail.data, landing.to());
      return landing.done();
    }
    if (header.call != Call::reply)
      throw ProtocolError("the server sent a message that is no answer");
    const auto reply = decode<Reply<>>(payload);
    if (reply.latched != 0) {
      Status none = 0;
      latched_.compare_exchange_strong(none, reply.latched);
    }
    const std::lock_guard lock(reading_);
    const auto asked = waiting_.find(header.request);
    if (asked == waiting_.end())
      throw ProtocolError("the server answered a call that was not made");
    Waiting& waiting = *asked->second;
    waiting.answer.status = reply.status;
    if (!waiting.into) {
      waiting.answer.body = {reply.tail.data.begin(), reply.tail.data.end()};
    } else if (reply.status == 0) {
      if (reply.tail.data.size() != waiting.into->size())
        throw ProtocolError("a copy came back in another size");
      std::ranges::copy(reply.tail.data, waiting.into->begin());
    }
    waiting.done = true;
    waiting_.erase(asked);
  }

  std::unique_ptr<Connection> connection_;
  PendingReceives& receives_;
  std::chrono::microseconds spin_;
  std::atomic<bool> lost_{false};
  std::atomic<Status> latched_{0};

  std::mutex sending_;
  std::vector<std::byte> out_;
  std::uint32_t last_request_ = 0;

  std::mutex reading_;
  std::condition_variable read_;
  bool being_read_ = false;
  std::unordered_map<std::uint32_t, Waiting*> waiting_;
  Inbox inbox_;  // used only by the reading thread
};

}  // namespace gpucast::remote::client
