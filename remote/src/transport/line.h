// The Unix socket beside memory that two processes share: its end is the other process's, a byte on
// it wakes who sleeps, and descriptors go over it.
#pragma once

#include <atomic>
#include <cstddef>
#include <deque>
#include <mutex>
#include <optional>

#include "gpucast/support/descriptor.h"
#include "transport/connection.h"
#include "transport/shared_memory.h"

namespace gpucast::remote {

// Whether the other end of the socket is a process of this one's user, or of root: who can read its
// memory anyway. False for sockets that are not Unix sockets.
bool is_own_peer(int socket);

class Line {
 public:
  explicit Line(support::Descriptor socket) : socket_(std::move(socket)) {}

  // ---- from any thread ----
  // Never waits: where the socket is full, enough lies there to wake.
  void ring() noexcept;
  // ConnectionLost where the other end takes none.
  void give(const SharedMemory& memory, const Deadline& deadline);
  void shut_down() noexcept;
  bool ended() const { return ended_; }
  // Waits until the other end is gone, without taking what wakes.
  void wait_for_end(const Deadline& deadline);

  // ---- by the thread that reads ----
  // Waits for what wakes, and takes it; false where nothing came.
  bool wait(const Deadline& deadline);
  // The next memory that was given; nothing where there is none now. ConnectionLost where more was
  // given than can wait. `bytes` as for SharedMemory::adopt, which throws.
  std::optional<SharedMemory> take(std::size_t bytes);

 private:
  bool poll(short events, const Deadline& deadline);
  // What has come; whether that was anything.
  bool receive();

  support::Descriptor socket_;
  std::atomic<bool> ended_{false};
  std::deque<support::Descriptor> given_;
};

}  // namespace gpucast::remote
