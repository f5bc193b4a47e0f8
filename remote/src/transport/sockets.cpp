#include "transport/sockets.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <thread>

namespace gpucast::remote {
namespace {

using support::Descriptor;

[[noreturn]] void lose(int error) { throw ConnectionLost(std::strerror(error)); }

// The system itself reports memory that the program does not have.
class SocketConnection : public Connection {
 public:
  explicit SocketConnection(Descriptor socket) : socket_(std::move(socket)) {
    tune_tcp(socket_.get());
  }

  std::size_t try_read(std::span<std::byte> into, MemoryOf /*whose*/) override {
    if (into.empty()) return 0;
    const ssize_t got = ::recv(socket_.get(), into.data(), into.size(), MSG_DONTWAIT);
    if (got == 0) throw ConnectionLost("the other end closed the connection");
    return count_of(got);
  }

  std::size_t try_write(std::span<const std::byte> first, std::span<const std::byte> second,
                        MemoryOf /*whose*/) override {
    const auto part = [](std::span<const std::byte> bytes) {
      return iovec{.iov_base = const_cast<std::byte*>(bytes.data()), .iov_len = bytes.size()};
    };
    std::array parts = {part(first), part(second)};
    msghdr message{};
    message.msg_iov = parts.data();
    message.msg_iovlen = parts.size();
    return count_of(::sendmsg(socket_.get(), &message, MSG_DONTWAIT | MSG_NOSIGNAL));
  }

  void shut_down() noexcept override { ::shutdown(socket_.get(), SHUT_RDWR); }

  Ready wait(Ready wanted, const Deadline& deadline) override {
    pollfd entry{.fd = socket_.get(), .events = 0, .revents = 0};
    if (wanted.read) entry.events |= POLLIN;
    if (wanted.write) entry.events |= POLLOUT;
    const int count = ::poll(&entry, 1, milliseconds_until(deadline));
    if (count < 0 && errno != EINTR) lose(errno);
    if (count <= 0) return {};
    // The next read or write reports the error.
    const bool broken = (entry.revents & (POLLERR | POLLHUP | POLLNVAL)) != 0;
    return {.read = wanted.read && (broken || (entry.revents & POLLIN) != 0),
            .write = wanted.write && (broken || (entry.revents & POLLOUT) != 0)};
  }

  Descriptor another() const { return Descriptor(::fcntl(socket_.get(), F_DUPFD_CLOEXEC, 0)); }

 private:
  static std::size_t count_of(ssize_t result) {
    if (result >= 0) return static_cast<std::size_t>(result);
    if (errno == EAGAIN || errno == EINTR) return 0;
    if (errno == EFAULT) throw BadMemory("memory that is not the program's");
    lose(errno);
  }

  Descriptor socket_;
};

// Waits until the connection that was begun is established.
void wait_for_connection(int descriptor, const Deadline& deadline) {
  pollfd entry{.fd = descriptor, .events = POLLOUT, .revents = 0};
  int count = 0;
  do {
    count = ::poll(&entry, 1, milliseconds_until(deadline));
  } while (count < 0 && errno == EINTR);
  if (count == 0) throw ConnectionLost("no answer in time");
  int error = errno;
  socklen_t size = sizeof error;
  if (count > 0) ::getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &error, &size);
  if (error != 0) lose(error);
}

std::unique_ptr<Connection> connected(const sockaddr* address, socklen_t size,
                                      const Deadline& deadline) {
  Descriptor socket(::socket(address->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket) lose(errno);
  while (::connect(socket.get(), address, size) != 0) {
    if (errno == EINPROGRESS || errno == EINTR) {
      wait_for_connection(socket.get(), deadline);
      break;
    }
    // The Unix socket's listener has too many pending connections.
    if (errno != EAGAIN) lose(errno);
    if (milliseconds_until(deadline) == 0) throw ConnectionLost("no answer in time");
    constexpr std::chrono::milliseconds pause(10);
    std::this_thread::sleep_for(pause);
  }
  return std::make_unique<SocketConnection>(std::move(socket));
}

std::string without_blanks(const std::string& text) {
  constexpr const char* blanks = " \t\r\n";
  const std::size_t begin = text.find_first_not_of(blanks);
  if (begin == std::string::npos) return "";
  return text.substr(begin, text.find_last_not_of(blanks) - begin + 1);
}

}  // namespace

std::string Endpoint::text() const {
  if (is_unix()) return "unix:" + path;
  const bool colons = host.find(':') != std::string::npos;
  return (colons ? "[" + host + "]" : host) + ":" + port;
}

Endpoint parse_endpoint(const std::string& text) {
  const std::string prefix = "unix:";
  if (text.starts_with(prefix)) {
    constexpr std::size_t longest = 107;  // of sockaddr_un, without the final zero
    const std::string path = text.substr(prefix.size());
    if (path.empty() || path.size() > longest)
      throw std::invalid_argument("'" + text + "': a path of 1 to 107 characters follows unix:");
    return {.host = "", .port = "", .path = path};
  }
  const std::size_t colon = text.rfind(':');
  std::string host = colon == std::string::npos ? "" : text.substr(0, colon);
  if (host.size() > 1 && host.front() == '[' && host.back() == ']')
    host = host.substr(1, host.size() - 2);
  else if (host.find(':') != std::string::npos)
    host.clear();  // in an IPv6 address without brackets the port would be ambiguous
  unsigned port = 0;
  const char* end = text.data() + text.size();
  const char* begin = colon == std::string::npos ? end : text.data() + colon + 1;
  const auto parsed = std::from_chars(begin, end, port);
  constexpr unsigned most = 65535;
  if (host.empty() || parsed.ec != std::errc() || parsed.ptr != end || begin == end || port > most)
    throw std::invalid_argument("'" + text + "' is no address: host:port or unix:/path is");
  return {.host = host, .port = std::to_string(port), .path = ""};
}

std::vector<Endpoint> parse_endpoints(const std::string& text) {
  std::vector<Endpoint> result;
  std::size_t begin = 0;
  for (;;) {
    const std::size_t comma = text.find(',', begin);
    result.push_back(parse_endpoint(without_blanks(text.substr(begin, comma - begin))));
    if (comma == std::string::npos) return result;
    begin = comma + 1;
  }
}

void tune_tcp(int descriptor) {
  if (is_unix_socket(descriptor)) return;
  const auto set = [&](int level, int option, int value) {
    ::setsockopt(descriptor, level, option, &value, sizeof value);
  };
  set(IPPROTO_TCP, TCP_NODELAY, 1);
  // In seconds: a peer whose host has vanished is noticed within ten if no data is on its way to
  // it. TCP_USER_TIMEOUT is not set for the other case: it also ends connections whose peer accepts
  // nothing for a while, like a server behind a long kernel. The monitor notices those.
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, 4);
  set(IPPROTO_TCP, TCP_KEEPINTVL, 1);
  set(IPPROTO_TCP, TCP_KEEPCNT, 4);
}

void limit_silence(int descriptor, std::chrono::milliseconds most) {
  const auto value = static_cast<int>(most.count());
  ::setsockopt(descriptor, IPPROTO_TCP, TCP_USER_TIMEOUT, &value, sizeof value);
}

Descriptor socket_of(Connection& connection) {
  const auto* const socket = dynamic_cast<SocketConnection*>(&connection);
  return socket == nullptr ? Descriptor() : socket->another();
}

bool is_unix_socket(int descriptor) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  ::getsockname(descriptor, reinterpret_cast<sockaddr*>(&address), &size);
  return address.ss_family == AF_UNIX;
}

std::unique_ptr<Connection> adopt_descriptor(int descriptor) {
  ::fcntl(descriptor, F_SETFD, FD_CLOEXEC);  // not inherited by programs that this one starts
  return std::make_unique<SocketConnection>(Descriptor(descriptor));
}

std::unique_ptr<Connection> connect_to(const Endpoint& endpoint, const Deadline& deadline) {
  if (endpoint.is_unix()) {
    sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
    endpoint.path.copy(address.sun_path, sizeof address.sun_path - 1);
    return connected(reinterpret_cast<const sockaddr*>(&address), sizeof address, deadline);
  }
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* first = nullptr;
  if (const int error =
          ::getaddrinfo(endpoint.host.c_str(), endpoint.port.c_str(), &wanted, &first);
      error != 0) {
    throw ConnectionLost(::gai_strerror(error));
  }
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> addresses(first, ::freeaddrinfo);
  std::string last = "the name has no address";
  for (; first != nullptr; first = first->ai_next) {
    try {
      return connected(first->ai_addr, first->ai_addrlen, deadline);
    } catch (const ConnectionLost& error) {
      last = error.what();
    }
  }
  throw ConnectionLost(last);
}

}  // namespace gpucast::remote
