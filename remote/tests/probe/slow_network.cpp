// A network of known delay and bandwidth between clients and a server on this host: passes on the
// bytes of all connections, TLS or not, neither looked into nor joined.
//
//     gpucast-slow-network PORT DELAY RATE     PORT of 127.0.0.1; s one way; bit/s each way
//
// Each way is a line: its bytes leave one after another, whichever connection they are of, and are
// there DELAY later; what waits for it waits on the sender's side. A thread looks for bytes all the
// time, so that 5 us have no sleep in them; a core that others want it lets go. Where the machine
// is busy the network is slower than stated, never faster. Prints where it listens.
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <deque>
#include <exception>
#include <iostream>
#include <list>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include "gpucast/support/descriptor.h"

namespace {

using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;
using Socket = std::shared_ptr<gpucast::support::Descriptor>;

constexpr Seconds most_waiting{100e-6};   // of bytes for a line: what a switch holds
constexpr Seconds longest_part{20e-6};    // of a line's time: parts of other connections follow
constexpr std::size_t most_parts = 1024;  // that a receiver leaves unread
constexpr int segment_bytes = 1448;       // by which a sender's buffer grows: Ethernet's
constexpr int buffer_bytes = 128 << 10;   // that the system takes of a sender beforehand

// Throws where a call of the system failed.
int checked(int result, const char* call) {
  if (result < 0) throw std::system_error(errno, std::generic_category(), call);
  return result;
}

Socket opened(int number) {
  auto socket = std::make_shared<gpucast::support::Descriptor>(checked(number, "socket"));
  const int at_once = 1;
  ::setsockopt(socket->get(), IPPROTO_TCP, TCP_NODELAY, &at_once, sizeof at_once);
  ::setsockopt(socket->get(), IPPROTO_TCP, TCP_MAXSEG, &segment_bytes, sizeof segment_bytes);
  ::setsockopt(socket->get(), SOL_SOCKET, SO_RCVBUF, &buffer_bytes, sizeof buffer_bytes);
  return socket;
}

sockaddr_in loopback(int port) {
  return {AF_INET, htons(static_cast<in_port_t>(port)), {htonl(INADDR_LOOPBACK)}, {}};
}
sockaddr* generic(sockaddr_in& address) { return reinterpret_cast<sockaddr*>(&address); }

class Network {
 public:
  Network(int port, Seconds delay, double rate)
      : server_(loopback(port)), delay_(delay), rate_(rate) {
    sockaddr_in own = loopback(0);
    socklen_t size = sizeof own;
    checked(::bind(listening_->get(), generic(own), size), "bind");
    checked(::listen(listening_->get(), 64), "listen");
    checked(::getsockname(listening_->get(), generic(own), &size), "getsockname");
    watch(EPOLL_CTL_ADD, listening_);
    std::cout << "listening on 127.0.0.1:" << ntohs(own.sin_port) << "\n" << std::flush;
  }

  [[noreturn]] void run() {
    while (true) {
      bool moved = false;
      epoll_event event{};
      // One at a time: who has bytes takes turns.
      if (::epoll_wait(ready_.get(), &event, 1, 0) == 1) {
        auto* const stream = static_cast<Stream*>(event.data.ptr);
        moved = stream == nullptr ? accept() : receive(*stream);
      }
      for (Stream& stream : streams_)
        moved |= deliver(stream);
      std::erase_if(streams_, [](const Stream& stream) { return stream.over; });
      if (!moved) ::sched_yield();
    }
  }

 private:
  struct Part {
    Clock::time_point due;
    std::vector<std::byte> bytes;  // that are not sent yet; none: the sender has ended
  };
  // What one end of a connection says to the other.
  struct Stream {
    Socket from, to;
    Clock::time_point& free;  // the line, of the bytes before
    std::deque<Part> under_way{};
    bool over = false;
  };

  // EPOLL_CTL_ADD or EPOLL_CTL_DEL.
  void watch(int whether, const Socket& socket, Stream* stream = nullptr) {
    epoll_event event{.events = EPOLLIN, .data = {.ptr = stream}};
    ::epoll_ctl(ready_.get(), whether, socket->get(), &event);
  }

  bool accept() {
    const Socket client = opened(::accept(listening_->get(), nullptr, nullptr));
    const Socket server = opened(::socket(AF_INET, SOCK_STREAM, 0));
    if (::connect(server->get(), generic(server_), sizeof server_) != 0) return true;
    watch(EPOLL_CTL_ADD, client, &streams_.emplace_back(client, server, there_));
    watch(EPOLL_CTL_ADD, server, &streams_.emplace_back(server, client, back_));
    return true;
  }

  // Returns whether there was anything that the line could take.
  bool receive(Stream& stream) {
    if (stream.free > Clock::now() + most_waiting || stream.under_way.size() > most_parts)
      return false;
    const double most = std::clamp(rate_ / 8 * longest_part.count(), 2e3, 64e3);
    std::vector<std::byte> bytes(static_cast<std::size_t>(most));
    const ssize_t got = ::recv(stream.from->get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (got < 0 && errno == EAGAIN) return false;
    bytes.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    if (bytes.empty()) watch(EPOLL_CTL_DEL, stream.from);
    const Seconds takes(8 * static_cast<double>(bytes.size()) / rate_);
    stream.free = std::max(stream.free, Clock::now()) + std::chrono::ceil<Clock::duration>(takes);
    const auto due = stream.free + std::chrono::ceil<Clock::duration>(delay_);
    stream.under_way.push_back({.due = due, .bytes = std::move(bytes)});
    return true;
  }

  // Returns whether any byte was there, and its receiver took it.
  bool deliver(Stream& stream) {
    bool moved = false;
    while (!stream.over && !stream.under_way.empty()) {
      Part& part = stream.under_way.front();
      if (part.due > Clock::now()) break;
      const ssize_t sent = ::send(stream.to->get(), part.bytes.data(), part.bytes.size(),
                                  MSG_DONTWAIT | MSG_NOSIGNAL);
      if (sent < 0 && errno == EAGAIN) break;
      moved = true;
      stream.over = sent < 0 || part.bytes.empty();
      part.bytes.erase(part.bytes.begin(), part.bytes.begin() + std::max<ssize_t>(sent, 0));
      if (part.bytes.empty()) stream.under_way.pop_front();
    }
    if (stream.over) {
      watch(EPOLL_CTL_DEL, stream.from);
      ::shutdown(stream.to->get(), SHUT_WR);
    }
    return moved;
  }

  sockaddr_in server_;
  Seconds delay_;
  double rate_;
  Socket listening_ = opened(::socket(AF_INET, SOCK_STREAM, 0));
  gpucast::support::Descriptor ready_{::epoll_create1(0)};
  Clock::time_point there_, back_;
  std::list<Stream> streams_;
};

}  // namespace

int main(int argc, char** argv) {
  try {
    const std::vector<std::string> words(argv, argv + argc);
    const Seconds delay(std::stod(words.at(2)));
    Network(std::stoi(words.at(1)), delay, std::stod(words.at(3))).run();
  } catch (const std::exception& error) {
    std::cerr << "gpucast-slow-network PORT DELAY RATE: error: " << error.what() << "\n";
    return 1;
  }
}
