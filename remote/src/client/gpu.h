// The client's view of one server's GPU: its connections, and the facts that are known without a
// query.
#pragma once

#include <atomic>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "client/bulk_connections.h"
#include "client/control_connection.h"
#include "client/event_times.h"
#include "client/handshake.h"
#include "client/host_functions.h"
#include "client/modules.h"
#include "client/pending_receives.h"
#include "client/segments.h"
#include "client/settings.h"
#include "client/staged_copies.h"
#include "client/status.h"
#include "client/stream_order.h"
#include "protocol/calls.h"
#include "transport/carriers.h"
#include "transport/flow.h"

namespace gpucast::remote::client {

class Gpu {
 public:
  // Connects and opens the GPU. Throws std::runtime_error with one line that names the server.
  Gpu(Endpoint endpoint, const ClientSettings& settings);
  ~Gpu();

  const DeviceInfo& device() const { return device_; }
  int attribute(int which) const;
  // Returns the transport of its calls in the vocabulary of records.
  const char* transport() const {
    if (const auto* const kind = find_carrier(session_.carrier)) return kind->word;
    return settings_.credentials.security == Security::tls ? "tls" : "plain";
  }
  Id new_id() { return new_ids(1); }
  // Returns the first of `count` consecutive ids.
  Id new_ids(std::size_t count) { return next_id_.fetch_add(count, std::memory_order_relaxed); }

  // ---- calls: they throw Failure with the driver's error or the client's own ----
  // Does not wait; a later error is reported by a call that waits (with GPUCAST_REMOTE_SYNC, by
  // this one).
  template <class Message>
  void send(const Message& message) {
    guarded([&] { require(send_unguarded(message)); });
  }
  template <class Message>
  ResultOf<Message> call(const Message& message) {
    return guarded([&] {
      const Answered answer = control_->call(message);
      require(answer.status);
      return decode<ResultOf<Message>>(answer.body);
    });
  }

  // Waits for the stream and for its announced data to arrive, and reports latched errors.
  void synchronize_stream(Id stream);
  void synchronize_event(Id event);
  void synchronize();
  // Whether the stream is finished; it is not while announced data may still be on its way.
  bool query_stream(Id stream);
  bool query_event(Id event);
  // The program assumes that blocking calls have finished, but they return while the server still
  // works.
  void wait_for_fences();

  // Copies to the device. Returns once the memory may be changed or, for an asynchronous copy from
  // `pinned` memory, as soon as it is queued and no earlier copy still has to write there.
  // `blocking`: for the program the copy, and all that the stream held before it, is finished on
  // return.
  void copy_to(Address to, const void* from, std::size_t bytes, Id stream, bool blocking,
               bool pinned);
  // Copies from the device. Returns once the data has arrived, or at once if `asynchronous`.
  void copy_from(void* to, Address from, std::size_t bytes, Id stream, bool asynchronous);
  // The same for memory that is shared with the server, in the stream's order. If blocking, they
  // return once they are finished.
  bool shares_memory() const { return control_->shares_memory(); }
  void copy_to(Address to, const Place& from, std::size_t bytes, Id stream, bool blocking);
  void copy_from(const Place& to, Address from, std::size_t bytes, Id stream, bool asynchronous);
  // Asks the server to map the memory; returns whether it did.
  bool map_segment(Id segment, const SharedMemory& memory);
  // Whether every call waits.
  bool is_synchronous() const { return synchronous_; }
  // Runs `body` in one of the library's threads when the stream reaches it; the stream continues
  // after that.
  void launch_host(Id stream, HostFunctions::Body body);
  // To be called before a call in which the server waits for the GPU: that may wait for a function,
  // whose data the server could not send then.
  void let_functions_run() {
    if (host_functions_.any()) host_functions_.wait_for([](const PendingReceive&) { return true; });
  }
  // Reads the data for the device now; data from it arrives like an asynchronous copy's.
  void launch_graph(Id graph, const std::vector<Bytes>& sends,
                    const std::vector<std::span<std::byte>>& receives, Id stream);
  // Waits until no copy in progress reads or writes the program's memory.
  void settle();

  void create_stream(Id stream, unsigned flags, int priority);
  void destroy_stream(Id stream);
  void record_event(Id event, Id stream);
  // Both the stream and the event belong to this GPU.
  void wait_event(Id stream, Id event);
  float elapsed(EventPair pair);  // milliseconds
  void forget_event(Id event);

  void reset();
  // A number that changes with each reset, which destroys all streams.
  std::uint64_t generation() const { return generation_; }

  // Calls in progress and later ones fail; none of the library's threads runs afterwards.
  void close() noexcept;
  // The server violates the protocol, and is given up.
  [[noreturn]] void give_up(const std::string& why) {
    lose(why);
    gone();
  }

  // The maximum of bytes of GPU code that are loaded before they are needed.
  std::uint64_t most_loaded_ahead() const { return settings_.most_loaded_ahead; }
  // Whether data for the server passes over a network.
  bool is_remote() const { return !endpoint_.is_unix(); }

  Modules modules{*this};

 private:
  template <class Message>
  Status send_unguarded(const Message& message, const std::function<void()>& queued = {}) {
    if constexpr (requires { message.stream; }) {
      if (message.stream == legacy_stream) order_.meet(new_id());
    }
    if (host_functions_.any()) keep_few_behind_functions();
    Status status = 0;
    if (synchronous_)
      status = control_->call(message, queued).status;
    else
      control_->send(message, queued);
    if constexpr (requires { message.fence; }) {
      if (message.fence != 0) fences_.fetch_add(1);
    }
    return status;
  }
  // Returns what the body returns. If the server is lost during it, this is reported once on
  // stderr.
  template <class Body>
  auto guarded(Body body) {
    if (lost_) gone();
    try {
      return body();
    } catch (const Failure&) {
      throw;
    } catch (const std::bad_alloc&) {
      throw Failure{cudaErrorMemoryAllocation};
    } catch (const BadMemory&) {
      require(status_bad_memory);
    } catch (const std::exception& error) {
      lose(error.what());
    }
    gone();
  }
  // Throws the error of calls during which the server was lost: the program may then reuse its
  // memory.
  [[noreturn]] void gone();
  template <class Message>
  void synchronize_by(Message message, const Which& which);
  template <class Message>
  bool query_by(const Message& message, const Which& which);
  void wait_for(const Which& which);
  // The server has reported that the stream, or all streams, have come to this point.
  void come_to(const Which& which);
  // Waits until the stream has finished its work so far, including copies to shared memory.
  void settle_shared(Id stream);
  // A driver accepts only a limited number of launches: its thread would then wait, and the
  // functions need it.
  void keep_few_behind_functions();
  // Waits for the stream's earlier functions if the program's memory is read after them.
  void wait_for_functions(Id stream) {
    if (host_functions_.any()) host_functions_.wait_for(order_.before(stream, new_id()));
  }
  // Throws the call's own error, or an earlier one of a call without answer. Each is reported once.
  void require_no_error(Status status);
  PendingReceive receive(Id transfer, Id stream, std::span<std::byte> to = {},
                         std::size_t piece = 0) const;
  template <class Message>
  void wait_for_copy(const Message& message);
  void send_bulk(Address to, Bytes data, Id stream, bool blocking, bool pinned);
  void receive_in_message(const CopyFrom& message, std::span<std::byte> to, bool waits);
  void receive_in_pieces(CopyFrom message, std::span<std::byte> to, bool waits);

  std::unique_ptr<Connection> connect(Greeting greeting);
  void open();
  // Opens the bulk connections when they are first needed.
  BulkConnections& bulk();
  // Returns nullptr if they were never opened.
  BulkConnections* opened_bulk();
  // Returns nullptr if such copies take another way.
  StagedCopies* staged();
  void watch(Connection& monitor) noexcept;
  void lose(const std::string& why) noexcept;

  Endpoint endpoint_;
  const ClientSettings& settings_;
  bool synchronous_;
  Session session_;
  Flows flows_;
  DeviceInfo device_;
  PendingReceives receives_;
  PendingReceives into_shared_;  // data that the GPU itself writes into shared memory
  HostFunctions host_functions_;
  std::atomic<std::size_t> behind_functions_{0};  // messages
  std::unique_ptr<ControlConnection> control_;
  // Threads that wait for something other than the control connection call this.
  const std::function<void()> meanwhile_ = [this] { control_->read_meanwhile(); };
  std::atomic<Id> next_id_{first_id};
  std::atomic<std::uint64_t> fences_{0};         // sent
  std::atomic<std::uint64_t> fences_waited_{0};  // waited for, at least

  std::atomic<std::uint64_t> generation_{0};

  std::atomic<bool> opened_{false};
  std::atomic<bool> lost_{false};
  std::atomic<bool> closed_{false};
  std::mutex bulk_mutex_;
  std::unique_ptr<BulkConnections> bulk_;
  std::once_flag staged_once_;
  std::unique_ptr<StagedCopies> staged_;
  std::atomic<bool> shared_copies_{false};  // some that nobody has waited for may be in progress
  std::unique_ptr<Connection> monitor_;
  std::thread watcher_;

  EventTimes times_;
  StreamOrder order_;
};

// A stream of the library's own on one GPU: made when it is first needed, and again after a reset.
class OwnStream {
 public:
  Id on(Gpu& gpu, unsigned flags) {
    if (id_ == 0 || generation_ != gpu.generation()) {
      id_ = gpu.new_id();
      generation_ = gpu.generation();
      gpu.create_stream(id_, flags, 0);
    }
    return id_;
  }
  // Errors are ignored.
  void destroy(Gpu& gpu) const {
    if (id_ != 0 && generation_ == gpu.generation()) status_of([&] { gpu.destroy_stream(id_); });
  }

 private:
  Id id_ = 0;
  std::uint64_t generation_ = 0;  // of the GPU
};

}  // namespace gpucast::remote::client
