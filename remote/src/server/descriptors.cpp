#include "server/descriptors.h"

#include <sys/socket.h>
#include <sys/uio.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace gpucast::remote::server {
namespace {

struct Control {
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> bytes{};
};

}  // namespace

bool pass_descriptor(int to, Purpose purpose, int descriptor) {
  iovec data{.iov_base = &purpose, .iov_len = sizeof purpose};
  Control control;
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control.bytes.data();
  message.msg_controllen = control.bytes.size();
  cmsghdr* head = CMSG_FIRSTHDR(&message);
  head->cmsg_level = SOL_SOCKET;
  head->cmsg_type = SCM_RIGHTS;
  head->cmsg_len = CMSG_LEN(sizeof descriptor);
  std::memcpy(CMSG_DATA(head), &descriptor, sizeof descriptor);
  return sendmsg(to, &message, MSG_NOSIGNAL | MSG_DONTWAIT) == sizeof purpose;
}

std::optional<Passed> receive_descriptor(int from) {
  for (;;) {
    Passed result;
    iovec data{.iov_base = &result.purpose, .iov_len = sizeof result.purpose};
    Control control;
    msghdr message{};
    message.msg_iov = &data;
    message.msg_iovlen = 1;
    message.msg_control = control.bytes.data();
    message.msg_controllen = control.bytes.size();
    const ssize_t got = recvmsg(from, &message, MSG_CMSG_CLOEXEC);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return std::nullopt;
    const cmsghdr* head = CMSG_FIRSTHDR(&message);
    // Lost on its way, for want of descriptors here.
    if (head == nullptr || head->cmsg_type != SCM_RIGHTS) continue;
    int descriptor = -1;
    std::memcpy(&descriptor, CMSG_DATA(head), sizeof descriptor);
    result.descriptor = Descriptor(descriptor);
    return result;
  }
}

}  // namespace gpucast::remote::server
