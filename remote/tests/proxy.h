// Passes data between the client and a server in parts of random size, and cuts a connection when
// it is told to.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <list>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "gpucast/support/descriptor.h"

namespace gpucast::remote {

class Proxy {
 public:
  enum class Way : std::uint8_t { up, down };  // to the server, to the client
  // Cuts both directions of the connection (0: the first one) after `behind` bytes.
  struct Cut {
    std::size_t connection = 0;
    Way way = Way::up;
    std::size_t behind = 0;
  };

  // Forwards to 127.0.0.1 at the port of `server` (host:port), in parts of up to `most_bytes`.
  Proxy(const std::string& server, std::size_t most_bytes, std::optional<Cut> cut = {})
      : most_bytes_(most_bytes), cut_(cut), listening_(::socket(AF_INET, SOCK_STREAM, 0)) {
    server_ = loopback(static_cast<std::uint16_t>(std::stoi(server.substr(server.rfind(':') + 1))));
    sockaddr_in own = loopback(0);
    socklen_t size = sizeof own;
    if (::bind(listening_.get(), generic(own), size) != 0 || ::listen(listening_.get(), 64) != 0 ||
        ::getsockname(listening_.get(), generic(own), &size) != 0) {
      throw std::runtime_error("a socket on loopback");
    }
    address_ = "127.0.0.1:" + std::to_string(ntohs(own.sin_port));
    accepting_ = std::thread([this] { accept(); });
  }
  ~Proxy() {
    ::shutdown(listening_.get(), SHUT_RDWR);
    accepting_.join();
    for (const Link& link : links_)
      cut(link);
    for (std::thread& thread : passing_)
      thread.join();
  }

  const std::string& address() const { return address_; }
  bool has_cut() const { return has_cut_; }

 private:
  struct Link {
    support::Descriptor client;
    support::Descriptor server;
  };

  static sockaddr_in loopback(std::uint16_t port) {
    sockaddr_in result{};
    result.sin_family = AF_INET;
    result.sin_port = htons(port);
    result.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return result;
  }
  static sockaddr* generic(sockaddr_in& address) { return reinterpret_cast<sockaddr*>(&address); }
  static void cut(const Link& link) {
    ::shutdown(link.client.get(), SHUT_RDWR);
    ::shutdown(link.server.get(), SHUT_RDWR);
  }

  void accept() {
    for (std::size_t number = 0;; ++number) {
      support::Descriptor client(::accept(listening_.get(), nullptr, nullptr));
      if (!client) return;
      support::Descriptor server(::socket(AF_INET, SOCK_STREAM, 0));
      if (::connect(server.get(), generic(server_), sizeof server_) != 0) continue;
      const Link& link = links_.emplace_back(Link{std::move(client), std::move(server)});
      passing_.emplace_back([this, &link, number] { pass(link, Way::up, number); });
      passing_.emplace_back([this, &link, number] { pass(link, Way::down, number); });
    }
  }

  void pass(const Link& link, Way way, std::size_t number) {
    const int from = (way == Way::up ? link.client : link.server).get();
    const int to = (way == Way::up ? link.server : link.client).get();
    const bool ends = cut_ && cut_->connection == number && cut_->way == way;
    std::mt19937 random(static_cast<unsigned>(2 * number) + (way == Way::up ? 0U : 1U));
    std::vector<std::byte> part(most_bytes_);
    for (std::size_t passed = 0;;) {
      std::size_t wanted = 1 + random() % most_bytes_;
      if (ends) wanted = std::min(wanted, cut_->behind - passed);
      if (wanted == 0) has_cut_ = true;
      const ssize_t got = wanted == 0 ? 0 : ::recv(from, part.data(), wanted, 0);
      if (got <= 0) break;
      for (ssize_t sent = 0; sent < got;) {
        const ssize_t more =
            ::send(to, part.data() + sent, static_cast<std::size_t>(got - sent), MSG_NOSIGNAL);
        if (more <= 0) return cut(link);
        sent += more;
      }
      passed += static_cast<std::size_t>(got);
    }
    cut(link);
  }

  std::size_t most_bytes_;
  std::optional<Cut> cut_;
  std::atomic<bool> has_cut_{false};
  support::Descriptor listening_;
  sockaddr_in server_{};
  std::string address_;
  std::list<Link> links_;
  std::vector<std::thread> passing_;
  std::thread accepting_;
};

}  // namespace gpucast::remote
