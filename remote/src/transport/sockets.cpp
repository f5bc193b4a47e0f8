#include "transport/sockets.h"

#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <asio/buffer.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/local/stream_protocol.hpp>
#include <cstring>
#include <utility>

namespace gpucast::remote {
namespace {

// Owns the context that Asio's sockets belong to; nothing runs in it.
class SocketConnection : public Connection {
 public:
  explicit SocketConnection(std::unique_ptr<asio::io_context> context, Socket socket)
      : context_(std::move(context)), socket_(std::move(socket)) {
    socket_.non_blocking(true);
  }

  std::size_t try_read(std::span<std::byte> into) override {
    asio::error_code error;
    const std::size_t got = socket_.read_some(asio::buffer(into.data(), into.size()), error);
    if (error && !passing(error)) throw ConnectionLost(why(error));
    return error ? 0 : got;
  }

  std::size_t try_write(std::span<const std::byte> first,
                        std::span<const std::byte> second) override {
    asio::error_code error;
    std::size_t sent = 0;
    if (second.empty()) {
      sent = socket_.write_some(asio::buffer(first.data(), first.size()), error);
    } else {
      const std::array<asio::const_buffer, 2> both = {asio::buffer(first.data(), first.size()),
                                                      asio::buffer(second.data(), second.size())};
      sent = socket_.write_some(both, error);
    }
    if (error && !passing(error)) throw ConnectionLost(why(error));
    return error ? 0 : sent;
  }

  // Not Asio's: its sockets are not to be used from two threads at once, the descriptor is.
  void shut_down() noexcept override { ::shutdown(descriptor(), SHUT_RDWR); }

  int descriptor() const override {
    return const_cast<Socket&>(socket_).native_handle();  // which Asio does not declare const
  }

 private:
  static bool passing(const asio::error_code& error) {
    return error == asio::error::would_block || error == asio::error::try_again ||
           error == asio::error::interrupted;
  }
  static std::string why(const asio::error_code& error) {
    return error == asio::error::eof ? "the other end closed the connection" : error.message();
  }

  std::unique_ptr<asio::io_context> context_;
  Socket socket_;
};

// A socket of the address's kind that is connected before the deadline. Asio's own connect knows no
// deadline.
void connect_in_time(Socket& socket, const asio::generic::stream_protocol::endpoint& address,
                     const Deadline& deadline) {
  socket.open(address.protocol());
  socket.non_blocking(true);
  asio::error_code error;
  socket.connect(address, error);
  if (error == asio::error::in_progress || error == asio::error::would_block) {
    pollfd entry{.fd = socket.native_handle(), .events = POLLOUT, .revents = 0};
    const auto left =
        deadline ? std::chrono::ceil<std::chrono::milliseconds>(*deadline - Clock::now()).count()
                 : -1;
    if (poll(&entry, 1, static_cast<int>(left)) == 0) throw ConnectionLost("no answer in time");
    int status = 0;
    socklen_t size = sizeof status;
    getsockopt(socket.native_handle(), SOL_SOCKET, SO_ERROR, &status, &size);
    error = asio::error_code(status, asio::error::get_system_category());
  }
  if (error) throw ConnectionLost(error.message());
}

}  // namespace

void tune_tcp(Socket& socket) {
  const auto protocol = socket.local_endpoint().protocol().family();
  if (protocol != AF_INET && protocol != AF_INET6) return;
  const auto set = [&](int level, int option, int value) {
    setsockopt(socket.native_handle(), level, option, &value, sizeof value);
  };
  set(IPPROTO_TCP, TCP_NODELAY, 1);
  // Seconds; a peer whose host is gone is known within ten.
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, 4);
  set(IPPROTO_TCP, TCP_KEEPINTVL, 1);
  set(IPPROTO_TCP, TCP_KEEPCNT, 4);
}

std::unique_ptr<Connection> socket_connection(Socket socket) {
  tune_tcp(socket);
  // Out of its own context, into one that the connection owns.
  const auto protocol = socket.local_endpoint().protocol();
  auto context = std::make_unique<asio::io_context>(1);
  Socket moved(*context, protocol, socket.release());
  return std::make_unique<SocketConnection>(std::move(context), std::move(moved));
}

std::unique_ptr<Connection> adopt_descriptor(int descriptor) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  getsockname(descriptor, reinterpret_cast<sockaddr*>(&address), &size);
  auto context = std::make_unique<asio::io_context>(1);
  const int tcp = address.ss_family == AF_UNIX ? 0 : IPPROTO_TCP;
  Socket socket(*context, asio::generic::stream_protocol(address.ss_family, tcp), descriptor);
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
