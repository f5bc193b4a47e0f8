// The ordered connection to one server. Any thread may send and ask. Whoever waits for an answer
// reads the connection for all who wait: no thread has to be woken for an answer to come through.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "client/arrivals.h"
#include "client/counters.h"
#include "protocol/calls.h"
#include "transport/connection.h"

namespace gpucast::remote::client {

struct Answered {
  Status status = 0;
  std::vector<std::byte> body = {};  // the Result's fields, and a tail for some
};

class Lane {
 public:
  Lane(std::unique_ptr<Connection> connection, Arrivals& arrivals, std::chrono::microseconds spin)
      : connection_(std::move(connection)), arrivals_(arrivals), spin_(spin) {}
  ~Lane() = default;
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;

  // All of these throw ConnectionLost or ProtocolError once the server is lost, and BadMemory where
  // the tail cannot be read: zeros have gone out then, since the message had begun.

  // `queued`, if given, is called in the order in which messages go out.
  template <class Message>
  void send(const Message& message, Bytes tail = {}, const std::function<void()>& queued = {}) {
    const std::lock_guard lock(sending_);
    if (queued) queued();
    if (!put(message, 0, tail)) throw_bad_memory();
  }

  template <class Message>
  Answered ask(const Message& message, Bytes tail = {}, const std::function<void()>& queued = {}) {
    Waiting waiting(*this);
    bool readable = true;
    {
      const std::lock_guard lock(sending_);
      if (queued) queued();
      waiting.expect(next_request());
      readable = put(message, waiting.request, tail);
    }
    count_round_trip();
    read_until([&] { return waiting.done; });
    if (!readable) throw_bad_memory();
    return std::move(waiting.answer);
  }

  // Waits until all of these that the lane brings have arrived.
  void read_arrivals(const Which& which) {
    if (!arrivals_.none_over_lane(which))
      read_until([&] { return arrivals_.none_over_lane(which); });
  }

  // Reads what is there, unless another thread reads. Called by threads that wait for something
  // else, since a server that cannot send takes no more messages.
  void read_meanwhile();

  // The first failure of a message without request since the last call of this function; 0: none.
  Status take_latched() { return latched_.exchange(0); }

  // From any thread: wakes all who wait.
  void shut_down() noexcept {
    lost_ = true;
    connection_->shut_down();
  }

 private:
  // Known to whoever reads as long as it lives.
  struct Waiting {
    explicit Waiting(Lane& waiting_for) : lane(waiting_for) {}
    ~Waiting();
    Waiting(const Waiting&) = delete;
    Waiting& operator=(const Waiting&) = delete;
    void expect(std::uint32_t its_request);

    Lane& lane;
    std::uint32_t request = 0;
    bool done = false;  // under reading_
    Answered answer;
  };

  template <class Message>
  bool put(const Message& message, std::uint32_t request, Bytes tail) {
    out_.clear();
    encode(out_, message, request, tail.size());
    count_sent(out_.size() + tail.size());
    return write(out_, tail);
  }
  [[noreturn]] static void throw_bad_memory() { throw BadMemory("memory that cannot be read"); }
  std::uint32_t next_request() {
    if (++last_request_ == 0) ++last_request_;
    return last_request_;
  }
  // False where the second cannot be read.
  bool write(Bytes first, Bytes second);
  void read_until(const std::function<bool()>& done);
  bool read_batch(bool may_wait);
  void take(const Header& header, Bytes payload);

  std::unique_ptr<Connection> connection_;
  Arrivals& arrivals_;
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
  // Used only by the thread that reads:
  std::vector<std::byte> in_;
  std::size_t in_begin_ = 0;
  std::size_t in_end_ = 0;
};

}  // namespace gpucast::remote::client
