// One client and its GPU, in a process of their own: handles the messages of the control connection
// in order, and never waits for the GPU while it could do something else. Work that has to wait is
// kept in lists that are checked between messages.
#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <string>

#include "protocol/calls.h"
#include "protocol/inbox.h"
#include "server/bulk.h"
#include "server/gpu.h"
#include "server/host_functions.h"
#include "server/log.h"
#include "server/pending_waits.h"
#include "server/reply_queue.h"
#include "server/segments.h"
#include "server/staging.h"
#include "transport/connection.h"

namespace gpucast::remote::server {

struct SessionOptions {
  std::string libcuda = "libcuda.so.1";
  int gpu = 0;
  std::uint64_t most_memory = 0;  // limit of a client in bytes; 0: the GPU's memory
  // How long it polls for the next message before it sleeps.
  std::chrono::microseconds spin = usual_spin;
  // Limit of a client's pinned memory in bytes; 0: half of the host's.
  std::uint64_t most_segments = 0;
  std::chrono::seconds most_silence{600};  // of a client; 0: no limit
  int image_cache = -1;                    // descriptor of ImageCache::make(); -1: none
};

class Session {
 public:
  Session(std::unique_ptr<Connection> control, Bulk& bulk, HostFunctions& host_functions,
          SessionOptions options, Log& log);

  // Serves until the client is gone (ConnectionLost) or violates the protocol (ProtocolError).
  [[noreturn]] void run();

 private:
  bool take_messages();
  bool has_room() const;
  bool finish_waits();
  // Frees the staging slots that the GPU has read; with `all`, checks every one of them.
  bool take_back_staging(bool all);
  // The session's other work between the pieces of a large copy.
  void tend();
  void rest(Clock::time_point idle_since);

  // Handles the message; returns false, and does nothing, while it has to wait for large copies.
  bool take(const Header& header, Bytes payload);
  template <class Message>
  bool take(const Header& header, const Message& call);
  template <class Message>
  bool stays_behind(const Message& call);

  // A call without a function of its own below is done by the GPU at once and answered. A
  // DriverError becomes the answer, too.
  template <class Message>
  void handle(const Header& header, const Message& call);
  void handle(const Header& header, const Open& call);
  void handle(const Header& header, const Ping& call);
  void handle(const Header& header, const AskServer& call);
  void handle(const Header& header, const StreamQuery& call);
  void handle(const Header& header, const EventQuery& call);
  void handle(const Header& header, const FenceSync& call);
  void handle(const Header& header, const Detach& call);
  void handle(const Header& header, const CopyTo& call);
  void handle(const Header& header, const CopyToBulk& call);
  void handle(const Header& header, const CopyFrom& call);
  void handle(const Header& header, const SegmentMap& call);
  void handle(const Header& header, const SegmentUnmap& call);
  void handle(const Header& header, const CopyToShared& call);
  void handle(const Header& header, const CopyFromShared& call);
  // Lets `queue` put the copy on its stream; answers, or sends a notice, once the stream has
  // reached it.
  template <class Message, class Body>
  void follow(const Header& header, const Message& call, Body queue);
  void handle(const Header& header, const LaunchHost& call);
  void handle(const Header& header, const GraphData& call);
  void handle(const Header& header, const GraphLaunch& call);
  // Calls `done` repeatedly until it returns true; meanwhile only messages have to wait.
  void wait_until(const std::function<bool()>& done);
  void copied_from(const Header& header, const CopyFrom& call, const Staging::Slot& slot,
                   CUresult status);
  // Answers with the event's status once it has completed; at once if there is none.
  void report_after(const Header& header, std::shared_ptr<Event> event);
  // Answers once all work of the streams has completed, even if the GPU fails.
  void after_all(const Header& header, std::function<void()> work);
  // Answers once the GPU has reached this point.
  template <class Message>
  void synchronize(const Header& header, const Message& call);
  template <class Message>
  std::shared_ptr<Events> events_of(const Message& call);
  // Queues large copies to the client as far as there is room; returns whether there were any.
  bool advance_deferred();

  // Returns the stream if the client owns the memory.
  CUstream stream_for_copy(Id stream, Address memory, std::uint64_t bytes);
  Staging::Slot staging_slot(std::size_t bytes);
  Gpu& gpu();

  std::unique_ptr<Connection> control_;
  Bulk& bulk_;
  HostFunctions& host_functions_;
  SessionOptions options_;
  Log& log_;
  std::unique_ptr<ImageCache> images_;
  std::unique_ptr<Gpu> gpu_;
  std::unique_ptr<Staging> staging_;
  std::unique_ptr<Segments> segments_;
  Inbox inbox_;
  ReplyQueue replies_;
  PendingWaits waits_;
  Notices notices_;
  DeferredD2h deferred_;
  // Pinned memory that the GPU still reads, oldest first.
  struct Reading {
    std::shared_ptr<Event> event;
    Staging::Slot slot;
  };
  std::deque<Reading> readings_;
};

}  // namespace gpucast::remote::server
