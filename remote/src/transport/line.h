// The Unix socket that accompanies memory shared by two processes: it closes when the other process
// ends, a byte on it wakes the other side, and descriptors pass over it.
#pragma once

#include <sys/socket.h>
#include <sys/uio.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <deque>
#include <optional>
#include <span>

#include "gpucast/support/descriptor.h"
#include "transport/connection.h"
#include "transport/shared_memory.h"

namespace gpucast::remote {

// A message over a Unix socket, to send or to receive, with a descriptor in addition to its bytes.
class DescriptorMessage {
 public:
  // Refers to the bytes without a copy, and has room for a descriptor.
  explicit DescriptorMessage(std::span<std::byte> bytes)
      : data_{.iov_base = bytes.data(), .iov_len = bytes.size()} {
    head_.msg_iov = &data_;
    head_.msg_iovlen = 1;
    head_.msg_control = control_.data();
    head_.msg_controllen = CMSG_LEN(sizeof(int));  // the system closes any further ones
  }
  DescriptorMessage(std::span<std::byte> bytes, int descriptor) : DescriptorMessage(bytes) {
    cmsghdr* const beside = CMSG_FIRSTHDR(&head_);
    beside->cmsg_level = SOL_SOCKET;
    beside->cmsg_type = SCM_RIGHTS;
    beside->cmsg_len = CMSG_LEN(sizeof descriptor);
    std::memcpy(CMSG_DATA(beside), &descriptor, sizeof descriptor);
  }
  DescriptorMessage(const DescriptorMessage&) = delete;
  DescriptorMessage& operator=(const DescriptorMessage&) = delete;
  ~DescriptorMessage() = default;

  // Returns the form that sendmsg() and recvmsg() expect.
  msghdr* head() { return &head_; }
  // Returns the received descriptor, which the caller has to close; -1 if there was none.
  int descriptor() const {
    const cmsghdr* const beside = CMSG_FIRSTHDR(&head_);
    int result = -1;
    if (beside != nullptr && beside->cmsg_type == SCM_RIGHTS)
      std::memcpy(&result, CMSG_DATA(beside), sizeof result);
    return result;
  }

 private:
  iovec data_;
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control_{};
  msghdr head_{};
};

// Whether the other end of the socket is a process of the same user or of root, which could read
// this process's memory anyway. False for sockets that are not Unix sockets.
bool is_own_peer(int socket);

class Line {
 public:
  explicit Line(support::Descriptor socket) : socket_(std::move(socket)) {}

  // ---- from any thread ----
  // Never waits: if the socket is full, its bytes wake the other side anyway.
  void ring() noexcept;
  // Throws ConnectionLost if the other end accepts none.
  void give(const SharedMemory& memory, const Deadline& deadline);
  void shut_down() noexcept;
  bool ended() const { return ended_; }
  // Waits until the other end is gone, without consuming wake-ups.
  void wait_for_end(const Deadline& deadline);

  // ---- by the thread that reads ----
  // Waits for a wake-up and consumes it; returns false if there was none.
  bool wait(const Deadline& deadline);
  // Returns the next memory that was given; nothing if there is none now. Throws ConnectionLost if
  // too many were given. `bytes` as for SharedMemory::adopt, whose exceptions pass.
  std::optional<SharedMemory> take(std::size_t bytes);

 private:
  bool poll(short events, const Deadline& deadline);
  // Receives pending messages; returns whether there were any.
  bool receive();

  support::Descriptor socket_;
  std::atomic<bool> ended_{false};
  std::deque<support::Descriptor> given_;
};

}  // namespace gpucast::remote
