#include "client/control_connection.h"

#include <algorithm>

#include "transport/patience.h"

namespace gpucast::remote::client {

void ControlConnection::Waiting::expect(std::uint32_t its_request) {
  const std::lock_guard lock(control.reading_);
  request = its_request;
  control.waiting_[request] = this;
}

ControlConnection::Waiting::~Waiting() {
  const std::lock_guard lock(control.reading_);
  if (!done) control.waiting_.erase(request);
}

// Who waits to write reads.
bool ControlConnection::write(Bytes first, Bytes second) {
  return write_all_or_zeros(*connection_, first, second, [this] {
    if (lost_) throw ConnectionLost("the connection is closed");
    read_meanwhile();
    constexpr std::chrono::milliseconds while_another_reads(1);
    connection_->wait({.read = false, .write = true}, Clock::now() + while_another_reads);
  });
}

void ControlConnection::read_meanwhile() {
  std::unique_lock lock(reading_);
  if (!being_read_) read_batch(lock, false);
}

void ControlConnection::read_until(const std::function<bool()>& done) {
  std::unique_lock lock(reading_);
  while (!done()) {
    if (being_read_) {
      read_.wait(lock);
    } else {
      read_batch(lock, true);
    }
  }
}

void ControlConnection::read_batch(std::unique_lock<std::mutex>& lock, bool may_wait) {
  being_read_ = true;
  lock.unlock();
  const auto stop = [&] {
    lock.lock();
    being_read_ = false;
    read_.notify_all();
  };
  try {
    const auto begin = Clock::now();
    while (!read_now() && may_wait) {
      if (const auto since = Clock::now() - begin; since < spin_) {
        look_again(since);
      } else {
        connection_->wait({.read = true}, std::nullopt);
      }
    }
    while (const auto received = inbox_.front()) {
      take(received->header, received->payload);
      inbox_.pop(*received);
    }
  } catch (...) {
    lost_ = true;
    stop();
    throw;
  }
  stop();
}

bool ControlConnection::read_now() {
  if (lost_) throw ConnectionLost("the connection is closed");
  return inbox_.read(*connection_);
}

void ControlConnection::take(const Header& header, Bytes payload) {
  count(&Counter::bytes_received, Header::size + payload.size());
  if (header.call == Call::data) {
    const auto [transfer, status, tail] = decode<Data>(payload);
    if (tail.data.empty() && notices.take(transfer, status)) return;
    if (status != 0) return receives_.failed(transfer, status);
    PendingReceives::Landing landing(receives_, transfer, 0, tail.data.size());
    // Less than was asked for would never be followed by the rest.
    if (landing.to() == nullptr || !landing.is_whole())
      throw ProtocolError("the server sent data that was not asked for");
    std::ranges::copy(tail.data, landing.to());
    return landing.done();
  }
  if (header.call != Call::reply) throw ProtocolError("the server sent what is no answer");
  const auto reply = decode<Reply<>>(payload);
  if (reply.latched != 0) {
    Status none = 0;
    latched_.compare_exchange_strong(none, reply.latched);
  }
  const std::lock_guard lock(reading_);
  const auto found = waiting_.find(header.request);
  if (found == waiting_.end()) throw ProtocolError("the server answered what was not asked");
  Waiting& waiting = *found->second;
  waiting.answer.status = reply.status;
  if (!waiting.into) {
    waiting.answer.body = {reply.tail.data.begin(), reply.tail.data.end()};
  } else if (reply.status == 0) {
    if (reply.tail.data.size() != waiting.into->size())
      throw ProtocolError("a copy came back in another size");
    std::ranges::copy(reply.tail.data, waiting.into->begin());
  }
  waiting.done = true;
  waiting_.erase(found);
}

}  // namespace gpucast::remote::client
