#include "transport/sockets.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <asio/buffer.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/local/stream_protocol.hpp>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>

namespace gpucast::remote {
namespace {

// The system itself tells of memory that the program does not have.
//
// Owns the context that Asio's sockets belong to; nothing runs in it.
class SocketConnection : public Connection {
 public:
  explicit SocketConnection(std::unique_ptr<asio::io_context> context, Socket socket)
      : context_(std::move(context)), socket_(std::move(socket)) {
    socket_.non_blocking(true);
  }

  std::size_t try_read(std::span<std::byte> into, MemoryOf /*whose*/) override {
    asio::error_code error;
    const std::size_t got = socket_.read_some(asio::buffer(into.data(), into.size()), error);
    if (error) require_passing(error);
    return error ? 0 : got;
  }

  std::size_t try_write(std::span<const std::byte> first, std::span<const std::byte> second,
                        MemoryOf /*whose*/) override {
    asio::error_code error;
    const std::array<asio::const_buffer, 2> both = {asio::buffer(first.data(), first.size()),
                                                    asio::buffer(second.data(), second.size())};
    const std::size_t sent = socket_.write_some(both, error);
    if (error) require_passing(error);
    return error ? 0 : sent;
  }

  // Not Asio's: its sockets are not to be used from two threads at once, the descriptor is.
  void shut_down() noexcept override { ::shutdown(descriptor(), SHUT_RDWR); }

  Ready wait(Ready wanted, const Deadline& deadline) override {
    pollfd entry{.fd = descriptor(), .events = 0, .revents = 0};
    if (wanted.read) entry.events |= POLLIN;
    if (wanted.write) entry.events |= POLLOUT;
    const int count = ::poll(&entry, 1, milliseconds_until(deadline));
    if (count < 0 && errno != EINTR) {
      throw ConnectionLost(std::string("poll: ") + std::strerror(errno));
    }
    if (count <= 0) return {};
    // Errors are met by whoever reads or writes then.
    const bool broken = (entry.revents & (POLLERR | POLLHUP | POLLNVAL)) != 0;
    return {.read = wanted.read && (broken || (entry.revents & POLLIN) != 0),
            .write = wanted.write && (broken || (entry.revents & POLLOUT) != 0)};
  }

  int descriptor() { return socket_.native_handle(); }

 private:
  static void require_passing(const asio::error_code& error) {
    if (error == asio::error::would_block || error == asio::error::try_again ||
        error == asio::error::interrupted) {
      return;
    }
    if (error == asio::error::fault) throw BadMemory("memory that is not the program's");
    throw ConnectionLost(error == asio::error::eof ? "the other end closed the connection"
                                                   : error.message());
  }

  std::unique_ptr<asio::io_context> context_;
  Socket socket_;
};

sa_family_t family_of(int descriptor) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  ::getsockname(descriptor, reinterpret_cast<sockaddr*>(&address), &size);
  return address.ss_family;
}

asio::error_code system_error(int number) { return {number, asio::error::get_system_category()}; }

// When the connection that has begun is there or has failed.
asio::error_code wait_for_connection(int descriptor, const Deadline& deadline) {
  for (;;) {
    pollfd entry{.fd = descriptor, .events = POLLOUT, .revents = 0};
    const int count = ::poll(&entry, 1, milliseconds_until(deadline));
    if (count == 0) throw ConnectionLost("no answer in time");
    if (count < 0 && errno == EINTR) continue;
    int status = count < 0 ? errno : 0;
    socklen_t size = sizeof status;
    if (count > 0) ::getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &status, &size);
    return system_error(status);
  }
}

// A socket of the address's kind that is connected before the deadline. Not by Asio, whose connect
// waits for as long as it takes.
void connect_in_time(Socket& socket, const asio::generic::stream_protocol::endpoint& address,
                     const Deadline& deadline) {
  const auto protocol = address.protocol();
  const int descriptor =
      ::socket(protocol.family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, protocol.protocol());
  if (descriptor < 0) throw ConnectionLost(system_error(errno).message());
  socket.assign(protocol, descriptor);
  const auto size = static_cast<socklen_t>(address.size());
  while (::connect(descriptor, address.data(), size) != 0) {
    if (errno == EINPROGRESS || errno == EINTR) {
      const asio::error_code error = wait_for_connection(descriptor, deadline);
      if (error) throw ConnectionLost(error.message());
      return;
    }
    // A Unix socket whose listener has not come to those before.
    if (errno != EAGAIN) throw ConnectionLost(system_error(errno).message());
    if (milliseconds_until(deadline) == 0) throw ConnectionLost("no answer in time");
    constexpr std::chrono::milliseconds pause(10);
    std::this_thread::sleep_for(pause);
  }
}

}  // namespace

void tune_tcp(Socket& socket) {
  const auto protocol = socket.local_endpoint().protocol().family();
  if (protocol != AF_INET && protocol != AF_INET6) return;
  const auto set = [&](int level, int option, int value) {
    setsockopt(socket.native_handle(), level, option, &value, sizeof value);
  };
  set(IPPROTO_TCP, TCP_NODELAY, 1);
  // Seconds: a peer whose host is gone is known within ten where nothing is on its way to it. No
  // TCP_USER_TIMEOUT for what is: it also ends connections whose peer just takes nothing for a
  // while, as a server does behind a long kernel. The monitor's silence tells of those.
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, 4);
  set(IPPROTO_TCP, TCP_KEEPINTVL, 1);
  set(IPPROTO_TCP, TCP_KEEPCNT, 4);
}

void limit_silence(int descriptor, std::chrono::milliseconds most) {
  const auto value = static_cast<int>(most.count());
  ::setsockopt(descriptor, IPPROTO_TCP, TCP_USER_TIMEOUT, &value, sizeof value);
}

support::Descriptor socket_of(Connection& connection) {
  auto* const socket = dynamic_cast<SocketConnection*>(&connection);
  if (socket == nullptr) return {};
  return support::Descriptor(::fcntl(socket->descriptor(), F_DUPFD_CLOEXEC, 0));
}

bool is_unix_socket(int descriptor) { return family_of(descriptor) == AF_UNIX; }

std::unique_ptr<Connection> adopt_descriptor(int descriptor) {
  const sa_family_t family = family_of(descriptor);
  auto context = std::make_unique<asio::io_context>(1);
  const int tcp = family == AF_UNIX ? 0 : IPPROTO_TCP;
  Socket socket(*context, asio::generic::stream_protocol(family, tcp), descriptor);
  ::fcntl(descriptor, F_SETFD, FD_CLOEXEC);  // programs that this one starts have no part in it
  tune_tcp(socket);
  return std::make_unique<SocketConnection>(std::move(context), std::move(socket));
}

std::unique_ptr<Connection> connect_to(const Endpoint& endpoint, const Deadline& deadline) {
  auto context = std::make_unique<asio::io_context>(1);
  const auto connected = [&](const auto& address) {
    Socket socket(*context);
    connect_in_time(socket, address, deadline);
    tune_tcp(socket);
    return std::make_unique<SocketConnection>(std::move(context), std::move(socket));
  };
  try {
    if (endpoint.is_unix()) {
      return connected(asio::local::stream_protocol::endpoint(endpoint.path));
    }
    asio::ip::tcp::resolver resolver(*context);
    std::string last = "the name has no address";
    for (const auto& entry : resolver.resolve(endpoint.host, endpoint.port)) {
      try {
        return connected(entry.endpoint());
      } catch (const ConnectionLost& error) {
        last = error.what();
      }
    }
    throw ConnectionLost(last);
  } catch (const asio::system_error& error) {
    throw ConnectionLost(error.code().message());
  }
}

}  // namespace gpucast::remote
