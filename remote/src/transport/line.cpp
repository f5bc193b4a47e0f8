#include "transport/line.h"

#include <poll.h>

#include <cerrno>

namespace gpucast::remote {
namespace {

constexpr std::size_t most_waiting = 16;  // descriptors that were given and not taken

}  // namespace

bool is_own_peer(int socket) {
  ucred peer{};
  socklen_t size = sizeof peer;
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0 || peer.pid == 0)
    return false;
  return peer.uid == ::geteuid() || peer.uid == 0;
}

void Line::ring() noexcept {
  const char byte = 0;
  const ssize_t sent = ::send(socket_.get(), &byte, sizeof byte, MSG_DONTWAIT | MSG_NOSIGNAL);
  if (sent < 0 && (errno == EPIPE || errno == ECONNRESET)) ended_ = true;
}

void Line::give(const SharedMemory& memory, const Deadline& deadline) {
  std::byte byte{1};
  DescriptorMessage message({&byte, 1}, memory.file().get());
  for (;;) {
    if (::sendmsg(socket_.get(), message.head(), MSG_DONTWAIT | MSG_NOSIGNAL) > 0) return;
    if (errno == EINTR) continue;
    if (errno != EAGAIN || !poll(POLLOUT, deadline))
      throw ConnectionLost("the other end takes no memory");
  }
}

void Line::shut_down() noexcept {
  ended_ = true;
  ::shutdown(socket_.get(), SHUT_RDWR);
}

bool Line::poll(short events, const Deadline& deadline) {
  pollfd entry{.fd = socket_.get(), .events = events, .revents = 0};
  const int count = ::poll(&entry, 1, milliseconds_until(deadline));
  if (count > 0 && (entry.revents & (POLLERR | POLLHUP | POLLNVAL)) != 0) ended_ = true;
  return count > 0 && (entry.revents & events) != 0;
}

void Line::wait_for_end(const Deadline& deadline) { poll(0, deadline); }

bool Line::wait(const Deadline& deadline) { return poll(POLLIN, deadline) && receive(); }

bool Line::receive() {
  std::array<std::byte, 256> bytes{};
  DescriptorMessage message(bytes);
  const ssize_t got = ::recvmsg(socket_.get(), message.head(), MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) ended_ = true;
  if (got <= 0) return false;
  if (support::Descriptor file(message.descriptor()); file) given_.push_back(std::move(file));
  if (given_.size() > most_waiting) throw ConnectionLost("more memory was given than requested");
  return true;
}

std::optional<SharedMemory> Line::take(std::size_t bytes) {
  while (given_.empty())
    if (!receive()) return std::nullopt;
  support::Descriptor file = std::move(given_.front());
  given_.pop_front();
  return SharedMemory::adopt(std::move(file), bytes);
}

}  // namespace gpucast::remote
