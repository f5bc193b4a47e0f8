#include "server/descriptors.h"

#include <cerrno>
#include <span>
#include <type_traits>

#include "transport/descriptor_message.h"

namespace gpucast::remote::server {
namespace {

static_assert(std::is_trivially_copyable_v<Greeted>, "it is passed as it lies");

}  // namespace

bool pass_descriptor(int to, const Greeted& greeted, int descriptor) {
  Greeted said = greeted;
  DescriptorMessage message(std::as_writable_bytes(std::span(&said, 1)), descriptor);
  return sendmsg(to, message.head(), MSG_NOSIGNAL | MSG_DONTWAIT) == sizeof said;
}

std::optional<Passed> receive_descriptor(int from) {
  for (;;) {
    Passed result;
    DescriptorMessage message(std::as_writable_bytes(std::span(&result.greeted, 1)));
    const ssize_t got = recvmsg(from, message.head(), MSG_CMSG_CLOEXEC);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return std::nullopt;
    result.descriptor = Descriptor(message.descriptor());
    if (result.descriptor) return result;
    // Lost on its way, for want of descriptors here.
  }
}

}  // namespace gpucast::remote::server
