#include "server/descriptors.h"

#include <sys/socket.h>
#include <sys/uio.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <type_traits>

namespace gpucast::remote::server {
namespace {

static_assert(std::is_trivially_copyable_v<Greeted>, "it is passed as it lies");

// What is known of a connection, and room for its descriptor beside it.
struct Message {
  explicit Message(Greeted& greeted) : data{.iov_base = &greeted, .iov_len = sizeof greeted} {
    head.msg_iov = &data;
    head.msg_iovlen = 1;
    head.msg_control = control.data();
    head.msg_controllen = control.size();
  }
  Message(const Message&) = delete;
  Message& operator=(const Message&) = delete;
  ~Message() = default;

  iovec data;
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  msghdr head{};
};

}  // namespace

bool pass_descriptor(int to, const Greeted& greeted, int descriptor) {
  Greeted said = greeted;
  const Message message(said);
  cmsghdr* head = CMSG_FIRSTHDR(&message.head);
  head->cmsg_level = SOL_SOCKET;
  head->cmsg_type = SCM_RIGHTS;
  head->cmsg_len = CMSG_LEN(sizeof descriptor);
  std::memcpy(CMSG_DATA(head), &descriptor, sizeof descriptor);
  return sendmsg(to, &message.head, MSG_NOSIGNAL | MSG_DONTWAIT) == sizeof said;
}

std::optional<Passed> receive_descriptor(int from) {
  for (;;) {
    Passed result;
    Message message(result.greeted);
    const ssize_t got = recvmsg(from, &message.head, MSG_CMSG_CLOEXEC);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return std::nullopt;
    const cmsghdr* head = CMSG_FIRSTHDR(&message.head);
    // Lost on its way, for want of descriptors here.
    if (head == nullptr || head->cmsg_type != SCM_RIGHTS) continue;
    int descriptor = -1;
    std::memcpy(&descriptor, CMSG_DATA(head), sizeof descriptor);
    result.descriptor = Descriptor(descriptor);
    return result;
  }
}

}  // namespace gpucast::remote::server
