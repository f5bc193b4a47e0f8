// A message over a Unix socket with a descriptor beside its bytes, to send or to receive.
#pragma once

#include <sys/socket.h>
#include <sys/uio.h>

#include <array>
#include <cstddef>
#include <cstring>
#include <span>

namespace gpucast::remote {

class DescriptorMessage {
 public:
  // The bytes, which are not copied, and room for a descriptor.
  explicit DescriptorMessage(std::span<std::byte> bytes)
      : data_{.iov_base = bytes.data(), .iov_len = bytes.size()} {
    head_.msg_iov = &data_;
    head_.msg_iovlen = 1;
    head_.msg_control = control_.data();
    head_.msg_controllen = control_.size();
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

}  // namespace gpucast::remote
