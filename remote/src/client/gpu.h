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
  // The first of that many in a row.
  Id new_ids(std::size_t count) { return next_id_.fetch_add(count, std::memory_order_relaxed); }

  // ---- calls: they throw Failure with the driver's error, or with the client's own ----
  // Without waiting; what fails later is told by a call that waits (with GPUCAST_REMOTE_SYNC this
  // one does).
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

  // Waits, for what is announced to arrive too, and takes latched errors.
  void synchronize_stream(Id stream);
  void synchronize_event(Id event);
  void synchronize();
  // Whether it is done: not as long as announced data may still be on its way.
  bool query_stream(Id stream);
  bool query_event(Id event);
  // What the program takes for done is done: blocking calls return while the server still works.
  void wait_for_fences();

  // To the device: returns once the memory may be changed, or if it is `pinned` and the copy
  // asynchronous, as soon as it is queued, and is not before what earlier copies write there.
  // `blocking`: to the program it is done then, and so is what the stream held.
  void copy_to(Address to, const void* from, std::size_t bytes, Id stream, bool blocking,
               bool pinned);
  // From the device: returns once the data is there, or if `asynchronous` at once.
  void copy_from(void* to, Address from, std::size_t bytes, Id stream, bool asynchronous);
  // The same of memory that the server has too: the stream's order is all that there is. Blocking,
  // they return once they are done.
  bool shares_memory() const { return control_->shares_memory(); }
  void copy_to(Address to, const Place& from, std::size_t bytes, Id stream, bool blocking);
  void copy_from(const Place& to, Address from, std::size_t bytes, Id stream, bool asynchronous);
  // Asks the server to take the memory; whether it did.
  bool map_segment(Id segment, const SharedMemory& memory);
  // Whether every call waits.
  bool is_synchronous() const { return synchronous_; }
  // Runs `body` in a thread of the library's once the stream has come to it; the stream goes on
  // behind it.
  void launch_host(Id stream, HostFunctions::Body body);
  // Before a call that the server waits for the GPU in: that may wait for a function, whose data
  // the server could not send then.
  void let_functions_run() {
    if (host_functions_.any()) host_functions_.wait_for([](const PendingReceive&) { return true; });
  }
  // Reads what goes to the device now; what comes from it arrives as an asynchronous copy's.
  void launch_graph(Id graph, const std::vector<Bytes>& sends,
                    const std::vector<std::span<std::byte>>& receives, Id stream);
  // Waits until copies under way neither read nor write the program's memory.
  void settle();

  void create_stream(Id stream, unsigned flags, int priority);
  void destroy_stream(Id stream);
  void record_event(Id event, Id stream);
  // A stream of this GPU for an event of this GPU.
  void wait_event(Id stream, Id event);
  float elapsed(EventPair pair);  // milliseconds
  void forget_event(Id event);

  void reset();
  // Another number after each reset, which takes all streams with it.
  std::uint64_t generation() const { return generation_; }

  // Calls under way and later ones fail; none of the library's threads runs then.
  void close() noexcept;
  // The server does not keep to the protocol: it is lost.
  [[noreturn]] void give_up(const std::string& why) {
    lose(why);
    gone();
  }

  // Bytes of GPU code that may be loaded before it is needed, at most.
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
  // What the body returns. A server that is lost in it is told of once on stderr.
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
  // Fails as calls do that the server was lost in: the program may do with its memory what it likes
  // then.
  [[noreturn]] void gone();
  template <class Message>
  void synchronize_by(Message message, const Which& which);
  template <class Message>
  bool query_by(const Message& message, const Which& which);
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
  // Fails with a call's own status, or with what failed unasked before. Each is told once.
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
  std::atomic<std::uint64_t> fences_waited_{0};  // of these, at least

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

// A stream of the library's own on one GPU: made when it is first needed, and anew after a reset.
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
  // Whatever becomes of it.
  void destroy(Gpu& gpu) const {
    if (id_ != 0 && generation_ == gpu.generation()) status_of([&] { gpu.destroy_stream(id_); });
  }

 private:
  Id id_ = 0;
  std::uint64_t generation_ = 0;  // of the GPU
};

}  // namespace gpucast::remote::client
