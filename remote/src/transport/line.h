// The Unix socket beside memory that two processes share: its end is the other process's, a byte on
// it wakes who sleeps, and descriptors go over it.
#pragma once

#include <sys/socket.h>
#include <sys/uio.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <deque>
#include <mutex>
#include <optional>
#include <span>

#include "gpucast/support/descriptor.h"
#include "transport/connection.h"
#include "transport/shared_memory.h"

namespace gpucast::remote {

// A message over a Unix socket with a descriptor beside its bytes, to send or to receive.
class DescriptorMessage {
 public:
  // The bytes, which are not copied, and room for a descriptor.
  explicit DescriptorMessage(std::span<std::byte> bytes)
      : data_{.iov_base = bytes.data(), .iov_len = bytes.size()} {
    head_.msg_iov = &data_;
    head_.msg_iovlen = 1;
    head_.msg_control = control_.data();
    head_.msg_controllen = CMSG_LEN(sizeof(int));  // of more the system leaves none open
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

  // As sendmsg() and recvmsg() want it.
  msghdr* head() { return &head_; }
  // What was received beside the bytes, its receiver's to close; -1 where nothing was.
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
