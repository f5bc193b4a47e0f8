// One client and its GPU, in a process of their own: does what the lane brings, in order, and never
// waits for the GPU while more could be done. What has to wait for it stands in a list that is
// looked through between messages.
#pragma once

#include <chrono>
#include <deque>
#include <iosfwd>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "protocol/calls.h"
#include "server/answers.h"
#include "server/bulk.h"
#include "server/gpu.h"
#include "server/outgoing.h"
#include "server/staging.h"
#include "server/waits.h"
#include "transport/connection.h"

namespace gpucast::remote::server {

struct SessionOptions {
  std::string libcuda = "libcuda.so.1";
  int gpu = 0;
  std::uint64_t most_memory = 0;  // bytes of a client; 0: what the GPU has
  // Looks so long for the next message before it sleeps.
  std::chrono::microseconds spin = usual_spin;
};

class Session {
 public:
  Session(std::unique_ptr<Connection> lane, Bulk& bulk, SessionOptions options, std::ostream& log);
  ~Session() = default;
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // Serves until the client is gone (ConnectionLost) or breaks the protocol (ProtocolError).
  [[noreturn]] void run();

 private:
  bool take_messages();
  bool has_room() const;
  bool finish_waits();
  // Frees the staging slots that the GPU has read; with `all`, looks at every one of them.
  bool take_back_staging(bool all);
  // What the session does between the pieces of a large copy.
  void tend();
  void rest(Clock::time_point idle_since);

  void handle(const Header& header, Bytes payload);
  // How it handles them (protocol/call_list.h).
  template <class Message>
  void at_once(const Header& header, Bytes payload);
  template <class Message>
  void synchronize(const Header& header, Bytes payload);
  template <class Message>
  Waits::Events events_of(const Message& call);
  template <class Message>
  void own(const Header& header, Bytes payload);
  void copy_from_bulk(const Header& header, const CopyFrom& call);
  void copied_from(const Header& header, const CopyFrom& call, const Staging::Slot& slot,
                   CUresult status);

  Staging::Slot staging_slot(std::size_t bytes);
  Gpu& gpu();

  std::unique_ptr<Connection> lane_;
  Bulk& bulk_;
  SessionOptions options_;
  std::ostream& log_;
  std::unique_ptr<Gpu> gpu_;
  std::unique_ptr<Staging> staging_;
  std::vector<std::byte> in_;
  std::size_t in_begin_ = 0;
  std::size_t in_end_ = 0;
  Answers answers_;
  Waits waits_;
  Outgoing outgoing_;
  // Pinned memory that the GPU still reads, the oldest first.
  struct Reading {
    std::shared_ptr<Event> event;
    Staging::Slot slot;
  };
  std::deque<Reading> readings_;
};

}  // namespace gpucast::remote::server
