// One server's GPU, as the client sees it: its connections, and what is known without asking.
#pragma once

#include <atomic>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <type_traits>
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
  // Connects and opens the GPU. std::runtime_error with one line that names the server.
  Gpu(Endpoint endpoint, const ClientSettings& settings);
  ~Gpu();
  Gpu(const Gpu&) = delete;
  Gpu& operator=(const Gpu&) = delete;

  const DeviceInfo& device() const { return device_; }
  int attribute(int which) const;
  // What carries its calls, in the words of records.
  const char* transport() const {
    if (const auto* const kind = find_carrier(session_.carrier)) return kind->word;
    return settings_.credentials.security == Security::tls ? "tls" : "plain";
  }
  Id new_id() { return new_ids(1); }
  // The first of so many in a row.
  Id new_ids(std::size_t count) { return next_id_.fetch_add(count, std::memory_order_relaxed); }

  // ---- calls; a Status is the driver's ----
  // Without waiting; success if it is not known to fail (with GPUCAST_REMOTE_SYNC it is waited
  // for).
  template <class Message>
  Status send(const Message& message) {
    return guarded([&] { return send_unguarded(message); });
  }
  template <class Message>
  Status call(const Message& message, ResultOf<Message>& result) {
    return guarded([&] {
      const Answered answer = control_->call(message);
      if (answer.status == 0) result = decode<ResultOf<Message>>(answer.body);
      return answer.status;
    });
  }
  template <class Message>
  Status call(const Message& message) {
    ResultOf<Message> result;
    return call(message, result);
  }

  // Waits, for what is announced to arrive too, and takes latched errors.
  Status synchronize_stream(Id stream);
  // cudaErrorNotReady as long as announced data may still be on its way.
  Status query_stream(Id stream);
  Status query_event(Id event);
  Status synchronize_event(Id event);
  Status synchronize();
  // What the program takes for done is done: blocking calls return while the server still works.
  Status wait_for_fences();

  // To the device: returns once the memory may be changed, or if it is `pinned` and the copy
  // asynchronous, as soon as it is queued, and is not before what earlier copies write there.
  // `blocking`: to the program it is done then, and so is what the stream held.
  Status copy_to(Address to, const void* from, std::size_t bytes, Id stream, bool blocking,
                 bool pinned);
  // From the device: returns once the data is there, or if `asynchronous` at once.
  Status copy_from(void* to, Address from, std::size_t bytes, Id stream, bool asynchronous);
  // The same of memory that the server has too: the stream's order is all that there is. Blocking,
  // they return once they are done.
  bool shares_memory() const { return control_->shares_memory(); }
  Status copy_to(Address to, const Place& from, std::size_t bytes, Id stream, bool blocking);
  Status copy_from(const Place& to, Address from, std::size_t bytes, Id stream, bool asynchronous);
  // What the server is asked to take, and to leave again once all is done that uses it.
  Status map_segment(Id segment, const SharedMemory& memory);
  void unmap_segment(Id segment) { call(SegmentUnmap{.segment = segment}); }
  // Whether every call waits.
  bool is_synchronous() const { return synchronous_; }
  // Runs `body` in a thread of the library's once the stream has come to it; the stream goes on
  // behind it.
  Status launch_host(Id stream, HostFunctions::Body body);
  // Before a call that the server waits for the GPU in: that may wait for a function, whose data
  // the server could not send then.
  void let_functions_run() {
    if (host_functions_.any()) host_functions_.wait_for([](const PendingReceive&) { return true; });
  }
  // Reads what goes to the device now; what comes from it arrives as an asynchronous copy's.
  Status launch_graph(Id graph, const std::vector<Bytes>& sends,
                      const std::vector<std::span<std::byte>>& receives, Id stream);
  // Waits until copies under way neither read nor write the program's memory.
  Status settle();

  Status create_stream(Id stream, unsigned flags, int priority);
  Status destroy_stream(Id stream);
  Status record_event(Id event, Id stream);
  // A stream of this GPU for an event of this GPU.
  Status wait_event(Id stream, Id event);
  Status elapsed(EventPair pair, float& milliseconds);
  void forget_event(Id event);

  Status reset();
  // Another number after each reset, which takes all streams with it.
  std::uint64_t generation() const { return generation_; }

  // Calls under way and later ones fail; none of the library's threads runs then.
  void close() noexcept;
  // The server does not keep to the protocol: it is lost.
  Status give_up(const std::string& why) noexcept {
    lose(why);
    return gone();
  }

  // So much GPU code may be loaded before it is needed, in bytes.
  std::uint64_t most_loaded_ahead() const { return settings_.most_loaded_ahead; }
  // Whether what goes to the server passes a network.
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
    if (synchronous_) {
      status = control_->call(message, queued).status;
    } else {
      control_->send(message, queued);
    }
    if constexpr (requires { message.fence; }) {
      if (message.fence != 0) fences_.fetch_add(1);
    }
    return status;
  }
  // What the body returns or its Failure. A lost server: said once on stderr, and a status.
  template <class Body>
  Status guarded(Body body) noexcept {
    if (lost_) return gone();
    try {
      if constexpr (std::is_void_v<decltype(body())>) {
        body();
        return 0;
      } else {
        return body();
      }
    } catch (const Failure& failure) {
      return Status{failure.error};
    } catch (const std::bad_alloc&) {
      return Status{cudaErrorMemoryAllocation};
    } catch (const BadMemory&) {
      return status_bad_memory;
    } catch (const std::exception& error) {
      lose(error.what());
      return gone();
    }
  }
  // What calls return that the server was lost in: the program may do with its memory what it
  // likes then.
  Status gone() noexcept;
  template <class Message>
  Status synchronize_by(Message message, const Which& which);
  template <class Message>
  Status query_by(const Message& message, const Which& which);
  void wait_for(const Which& which);
  // The server has said that the stream, or all, has come so far.
  void come_to(const Which& which);
  // Until the stream has done what was asked so far, shared memory included.
  void settle_shared(Id stream);
  // As a driver takes no more launches than it has room for: its thread would wait, which the
  // functions need.
  void keep_few_behind_functions();
  // The functions of streams before, as far as the program's memory is read behind them.
  void wait_for_functions(Id stream) {
    if (host_functions_.any()) host_functions_.wait_for(order_.before(stream, new_id()));
  }
  // What a call that waits returns: its own status, or what failed unasked before.
  Status first_error(Status status);
  void expect_in_shared(std::size_t bytes, Id stream);
  template <class Message>
  Status wait_for_copy(const Message& message, Id now);
  void send_bulk(Address to, Bytes data, Id stream, bool blocking, bool pinned);

  std::unique_ptr<Connection> connect(Greeting greeting);
  void open();
  // Opened when it is first needed.
  BulkConnections& bulk();
  // nullptr where that has not been.
  BulkConnections* opened_bulk();
  // nullptr where such copies go another way.
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
  PendingReceives into_shared_;  // which the GPU itself brings to memory that the server has too
  HostFunctions host_functions_;
  std::atomic<std::size_t> behind_functions_{0};  // messages
  std::unique_ptr<ControlConnection> control_;
  // What threads do that wait for something else than the control connection.
  const std::function<void()> meanwhile_ = [this] { control_->read_meanwhile(); };
  std::atomic<Id> next_id_{first_id};
  std::atomic<std::uint64_t> fences_{0};         // that went out
  std::atomic<std::uint64_t> fences_waited_{0};  // so many of them, at least

  std::atomic<std::uint64_t> generation_{0};

  std::atomic<bool> opened_{false};
  std::atomic<bool> lost_{false};
  std::atomic<bool> closed_{false};
  std::mutex bulk_mutex_;
  std::unique_ptr<BulkConnections> bulk_;
  std::once_flag staged_once_;
  std::unique_ptr<StagedCopies> staged_;
  std::atomic<bool> shared_copies_{false};  // that nobody has waited for may be under way
  std::unique_ptr<Connection> monitor_;
  std::thread watcher_;

  EventTimes times_;
  StreamOrder order_;
};

}  // namespace gpucast::remote::client
