// One server's GPU, as the client sees it: its connections, and what is known without asking.
#pragma once

#include <atomic>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <type_traits>

#include "client/bulk_connections.h"
#include "client/control_connection.h"
#include "client/event_times.h"
#include "client/handshake.h"
#include "client/modules.h"
#include "client/pending_receives.h"
#include "client/settings.h"
#include "client/status.h"
#include "client/stream_order.h"
#include "protocol/calls.h"

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
  Id new_id() { return next_id_.fetch_add(1, std::memory_order_relaxed); }

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

  Modules modules{*this};

 private:
  template <class Message>
  Status send_unguarded(const Message& message, const std::function<void()>& queued = {}) {
    if constexpr (requires { message.stream; }) {
      if (message.stream == legacy_stream) order_.meet(new_id());
    }
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
  // What a call that waits returns: its own status, or what failed unasked before.
  Status first_error(Status status);
  void send_bulk(Address to, Bytes data, Id stream, bool blocking, bool pinned);

  std::unique_ptr<Connection> connect(Purpose purpose);
  void open();
  // Opened when it is first needed.
  BulkConnections& bulk();
  // nullptr where that has not been.
  BulkConnections* opened_bulk();
  void watch(Connection& monitor) noexcept;
  void lose(const std::string& why) noexcept;

  Endpoint endpoint_;
  const ClientSettings& settings_;
  bool synchronous_;
  Session session_;
  DeviceInfo device_;
  PendingReceives receives_;
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
  std::unique_ptr<Connection> monitor_;
  std::thread watcher_;

  EventTimes times_;
  StreamOrder order_;
};

}  // namespace gpucast::remote::client
