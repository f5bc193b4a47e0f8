// A server that proves its knowledge of the secret, without TLS, and then answers every call with
// possible answers, some of them damaged.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>

#include "gpucast/support/descriptor.h"
#include "protocol/calls.h"
#include "protocol/heartbeat.h"
#include "protocol/inbox.h"
#include "security/secret.h"
#include "tests/noise.h"
#include "transport/sockets.h"

namespace gpucast::remote {

class LyingServer {
 public:
  // It closes its connections after `most` messages, or after a damaged one.
  LyingServer(SecretKeys secret, std::uint64_t seed, std::size_t most)
      : secret_(std::move(secret)),
        seed_(seed),
        most_(most),
        listening_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in any{};
    any.sin_family = AF_INET;
    any.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::bind(listening_.get(), reinterpret_cast<sockaddr*>(&any), sizeof any) != 0)
      throw std::runtime_error("bind");
    constexpr int pending = 16;
    ::listen(listening_.get(), pending);
    socklen_t size = sizeof any;
    ::getsockname(listening_.get(), reinterpret_cast<sockaddr*>(&any), &size);
    port_ = ntohs(any.sin_port);
    accepting_ = std::thread([this] { accept(); });
  }
  ~LyingServer() {
    ::shutdown(listening_.get(), SHUT_RDWR);
    accepting_.join();
    end();
    for (std::thread& thread : serving_)
      thread.join();
  }

  Endpoint endpoint() const { return {.host = "127.0.0.1", .port = std::to_string(port_)}; }
  std::size_t sent() const { return sent_; }

 private:
  void accept() {
    for (;;) {
      const int descriptor = ::accept(listening_.get(), nullptr, nullptr);
      if (descriptor < 0) return;
      std::shared_ptr<Connection> connection = adopt_descriptor(descriptor);
      const std::lock_guard lock(mutex_);
      connections_.push_back(connection);
      if (ended_) connection->shut_down();
      serving_.emplace_back([this, connection, seed = seed_ + connections_.size()] {
        try {
          serve(*connection, seed);
        } catch (const std::exception&) {
          end();  // as a server does
        }
      });
    }
  }
  void end() {
    const std::lock_guard lock(mutex_);
    ended_ = true;
    for (const auto& connection : connections_)
      connection->shut_down();
  }

  void serve(Connection& connection, std::uint64_t seed) {
    Noise noise(seed);
    const Deadline deadline = Clock::now() + std::chrono::seconds(60);
    const auto hello = read_message<Hello>(connection, deadline);
    Challenge challenge{.security = Security::plain};
    write_all(connection, packed(challenge), {}, deadline);
    const auto answer = read_message<Answer>(connection, deadline);
    Welcome welcome;
    welcome.mac = prove(secret_.plain, Side::server, hello, challenge.nonce, answer.nonce);
    write_all(connection, packed(welcome), {}, deadline);
    if (hello.purpose == Purpose::control)
      answer_calls(connection, noise);
    else if (hello.purpose == Purpose::monitor)
      beat(connection, noise);
    else
      send_pieces(connection, noise);
  }

  void count_one() {
    if (++sent_ >= most_) throw ConnectionLost("it has said enough");
  }
  void send(Connection& connection, std::vector<std::byte>& message, Noise& noise) {
    count_one();
    constexpr std::size_t seldom = 200;
    const bool damages = noise.one_in(seldom);
    if (damages) noise.damage(message);
    write_all(connection, message);
    if (!damages) return;
    // The client may wait for more, so that a limited number of bytes follows.
    write_all(connection, Noise::bytes(noise.below(std::size_t{1} << 17)));
    throw ConnectionLost("it has said too much");
  }

  void beat(Connection& connection, Noise& noise) {
    for (;;) {
      std::array<std::byte, 64> dropped{};
      const std::size_t got = read_some(connection, dropped);
      Beat beat{.heard = dropped.at(got - 1)};
      noise(beat.flows.emplace_back());
      std::vector<std::byte> message = packed(beat);
      send(connection, message, noise);
    }
  }

  void send_pieces(Connection& connection, Noise& noise) {
    for (;;) {
      if (Wanted wanted; take(wanted)) {
        const std::size_t bytes = std::min<std::uint64_t>(wanted.bytes, piece_bytes);
        const Status status = noise.one_in(10) ? 1 : 0;
        auto piece = packed(Piece{.transfer = wanted.transfer,
                                  .offset = wanted.offset,
                                  .bytes = static_cast<std::uint32_t>(bytes),
                                  .status = status});
        const Bytes data = Noise::bytes(status == 0 ? bytes : 0);
        piece.insert(piece.end(), data.begin(), data.end());
        send(connection, piece, noise);
      }
      // Data from the client is ignored.
      std::vector<std::byte> dropped(std::size_t{1} << 16);
      constexpr std::chrono::milliseconds moment(1);
      if (connection.wait({.read = true}, Clock::now() + moment).read)
        connection.try_read(dropped, MemoryOf::library);
    }
  }

  void answer_calls(Connection& connection, Noise& noise) {
    Inbox inbox;
    for (;;) {
      connection.wait({.read = true}, std::nullopt);
      inbox.read(connection);
      while (const auto received = inbox.front()) {
        switch (received->header.call) {
#define GPUCAST_ANSWER(Message, ...)                                                 \
  case Call::Message:                                                                \
    answer(connection, noise, received->header, decode<Message>(received->payload)); \
    break;
          GPUCAST_CALLS(GPUCAST_ANSWER)
#undef GPUCAST_ANSWER
          default:
            break;
        }
        inbox.pop(*received);
      }
    }
  }

  template <class Message>
  void answer(Connection& connection, Noise& noise, const Header& header, const Message& message) {
    constexpr std::size_t seldom = 200;
    std::vector<std::byte> encoded;
    const auto put = [&](const auto& answer, std::uint32_t request) {
      encode(encoded, answer, request);
      const Bytes tail = tail_of(answer);
      encoded.insert(encoded.end(), tail.begin(), tail.end());
    };
    if constexpr (std::is_same_v<Message, CopyFrom>) {
      if (message.bytes > most_inline)
        want(message);
      else if (header.request == 0)
        put(Data{.transfer = message.transfer, .tail = {Noise::bytes(message.bytes)}}, 0);
    }
    if (noise.one_in(seldom)) put(noise.message<Data>(), 0);
    if (header.request != 0) {
      Reply<ResultOf<Message>> reply;
      if (!noise.one_in(seldom)) {
        reply.result = likely(message, noise);
        reply.status = noise.one_in(seldom) ? Status{1} : 0;
      } else {
        reply.result = noise.message<ResultOf<Message>>();
        reply.status = static_cast<Status>(noise.number());
      }
      if constexpr (std::is_same_v<Message, CopyFrom>) {
        if (message.bytes <= most_inline) reply.tail.data = Noise::bytes(message.bytes);
      }
      put(reply, header.request);
    }
    if (!encoded.empty()) send(connection, encoded, noise);
  }

  template <class Message>
  static ResultOf<Message> likely(const Message& message, Noise& noise) {
    auto result = noise.message<ResultOf<Message>>();
    if constexpr (std::is_same_v<Message, Open>) {
      result.problem.clear();
      result.device.attributes.assign(most_attributes, 1024);
    }
    if constexpr (requires { result.milliseconds; }) {
      if constexpr (requires { message.pairs; })
        result.milliseconds.assign(message.pairs.size(), 1);
      else
        result.milliseconds.assign(1, 1);
    }
    if constexpr (std::is_same_v<Message, ModuleKernels>) {
      result.kernels.assign(message.names.size(), Kernel{});
      for (Kernel& kernel : result.kernels)
        kernel.parameters = {{0, 4}, {4, 4}, {8, 8}, {16, 8}};  // like those of saxpy
    }
    return result;
  }

  // Large copies to the client.
  struct Wanted {
    Id transfer = 0;
    std::uint64_t offset = 0;
    std::uint64_t bytes = 0;
  };
  void want(const CopyFrom& message) {
    const std::lock_guard lock(mutex_);
    for (std::uint64_t begin = 0; begin < message.bytes; begin += piece_bytes)
      wanted_.push_back({message.transfer, begin, message.bytes - begin});
  }
  bool take(Wanted& wanted) {
    const std::lock_guard lock(mutex_);
    if (wanted_.empty()) return false;
    wanted = wanted_.back();
    wanted_.pop_back();
    return true;
  }

  SecretKeys secret_;
  std::uint64_t seed_;
  std::size_t most_;
  support::Descriptor listening_;
  int port_ = 0;
  std::atomic<std::size_t> sent_{0};
  std::mutex mutex_;
  bool ended_ = false;
  std::vector<std::shared_ptr<Connection>> connections_;
  std::vector<std::thread> serving_;
  std::vector<Wanted> wanted_;
  std::thread accepting_;
};

}  // namespace gpucast::remote
