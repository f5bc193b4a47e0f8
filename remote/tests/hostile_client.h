// A client that uses the protocol directly: it greets correctly and then sends anything.
#pragma once

#include <cstdlib>
#include <functional>
#include <memory>
#include <set>
#include <vector>

#include "client/handshake.h"
#include "protocol/calls.h"
#include "protocol/inbox.h"
#include "security/secret.h"
#include "tests/server_process.h"
#include "transport/shared_memory.h"
#include "transport/sockets.h"

namespace gpucast::remote {

// A piece on a bulk connection.
inline std::vector<std::byte> bulk_piece(Id transfer, std::uint64_t offset, Bytes data,
                                         Status status = 0) {
  auto result = packed(Piece{.transfer = transfer,
                             .offset = offset,
                             .bytes = static_cast<std::uint32_t>(data.size()),
                             .status = status});
  result.insert(result.end(), data.begin(), data.end());
  return result;
}

class HostileClient {
 public:
  // Wraps its control connection.
  using Wrap = std::function<std::unique_ptr<Connection>(std::unique_ptr<Connection>)>;

  explicit HostileClient(const ServerProcess& server, const Wrap& wrap = {})
      : control_(connect(server, {Purpose::control}, wrap)),
        monitor_(connect(server, {Purpose::monitor})),
        bulk_(connect(server, {Purpose::bulk, 1})) {}

  // Sends a message; returns the request number, which is 0 if no answer is requested.
  template <class Message>
  std::uint32_t say(const Message& message, bool asked = true) {
    std::vector<std::byte> bytes;
    const std::uint32_t request = asked ? ++last_request_ : 0;
    if (asked && CallOf<Message>::number == Call::MemAlloc) allocations_.insert(request);
    encode(bytes, message, request);
    const Bytes tail = tail_of(message);
    bytes.insert(bytes.end(), tail.begin(), tail.end());
    say_bytes(bytes);
    return request;
  }
  void say_bytes(Bytes bytes) { send(*control_, bytes); }
  void say_piece(Bytes bytes) { send(*bulk_, bytes); }

  // Reads what has arrived on all connections.
  void hear() {
    while (inbox_.read(*control_)) {
      while (const auto received = inbox_.front()) {
        note(*received);
        inbox_.pop(*received);
      }
    }
    std::array<std::byte, 4096> dropped{};
    for (Connection* other : {bulk_.get(), monitor_.get()}) {
      while (other->try_read(dropped, MemoryOf::library) > 0) {
      }
    }
  }
  // Waits for the answer to the request; returns its fields if it succeeded.
  std::vector<std::byte> answer(std::uint32_t request) {
    const auto end = Clock::now() + patience;
    awaited_ = request;
    for (;;) {
      hear();
      if (awaited_ == 0) break;
      if (Clock::now() > end) throw std::runtime_error("the server does not answer");
      control_->wait({.read = true}, Clock::now() + moment);
    }
    return answer_;
  }
  template <class Message>
  ResultOf<Message> ask(const Message& message) {
    return decode<ResultOf<Message>>(answer(say(message)));
  }
  // The same; returns the status.
  template <class Message>
  Status call(const Message& message) {
    answer(say(message));
    return status_;
  }
  template <class Message>
  Status call(const Message& message, ResultOf<Message>& result) {
    if (call(message) == 0) result = decode<ResultOf<Message>>(answer_);
    return status_;
  }
  // Sends memory along.
  Status give(const SegmentMap& message, const SharedMemory& memory) {
    control_->give(memory);
    return call(message);
  }
  // Returns the addresses that were allocated since the last call of this function.
  std::vector<Address> allocated() { return std::exchange(allocated_, {}); }

 private:
  static constexpr std::chrono::seconds patience{60};
  static constexpr std::chrono::milliseconds moment{5};

  std::unique_ptr<Connection> connect(const ServerProcess& server, client::Greeting greeting,
                                      const Wrap& wrap = {}) {
    const Deadline deadline = Clock::now() + patience;
    auto connection = connect_to(parse_endpoint(server.address()), deadline);
    if (wrap) connection = wrap(std::move(connection));
    return client::shake_hands(std::move(connection), greeting, session_,
                               {.secret = read_secret(std::getenv("GPUCAST_REMOTE_SECRET_FILE"))},
                               deadline);
  }
  // Reads meanwhile: a server that cannot send accepts nothing.
  void send(Connection& connection, Bytes data) {
    while (!data.empty()) {
      const std::size_t sent = connection.try_write(data, {}, MemoryOf::library);
      data = data.subspan(sent);
      if (sent > 0) continue;
      hear();
      connection.wait({.write = true}, Clock::now() + moment);
    }
  }
  void note(const Inbox::Received& received) {
    if (received.header.call != Call::reply) return;
    const auto reply = decode<Reply<>>(received.payload);
    const std::uint32_t request = received.header.request;
    if (allocations_.erase(request) > 0 && reply.status == 0)
      allocated_.push_back(decode<Allocated>(reply.tail.data).address);
    // Answers arrive in the order in which the GPU completes the requests.
    if (request != awaited_) return;
    awaited_ = 0;
    status_ = reply.status;
    answer_.assign(reply.tail.data.begin(), reply.tail.data.end());
  }

  client::Session session_;
  std::unique_ptr<Connection> control_;
  std::unique_ptr<Connection> monitor_;
  std::unique_ptr<Connection> bulk_;
  Inbox inbox_;
  std::uint32_t last_request_ = 0;
  std::uint32_t awaited_ = 0;
  Status status_ = 0;
  std::vector<std::byte> answer_;
  std::set<std::uint32_t> allocations_;
  std::vector<Address> allocated_;
};

}  // namespace gpucast::remote
