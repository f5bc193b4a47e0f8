#include "client/lane.h"

#include <algorithm>
#include <cstring>
#include <thread>

namespace gpucast::remote::client {
namespace {

constexpr std::size_t read_at_once = std::size_t{256} << 10;

}  // namespace

void Lane::Waiting::expect(std::uint32_t its_request) {
  const std::lock_guard lock(lane.reading_);
  request = its_request;
  lane.waiting_[request] = this;
}

Lane::Waiting::~Waiting() {
  const std::lock_guard lock(lane.reading_);
  if (!done) lane.waiting_.erase(request);
}

// Who waits to write reads.
bool Lane::write(Bytes first, Bytes second) {
  std::vector<std::byte> zeros;
  while (!first.empty() || !second.empty()) {
    if (lost_) throw ConnectionLost("the connection is closed");
    std::size_t sent = 0;
    try {
      sent = connection_->try_write(first, second);
    } catch (const BadMemory&) {
      if (!zeros.empty() || second.empty()) throw;
      zeros.resize(second.size());
      second = zeros;
      continue;
    }
    const std::size_t of_first = std::min(sent, first.size());
    first = first.subspan(of_first);
    second = second.subspan(sent - of_first);
    if (sent == 0) {
      read_meanwhile();
      constexpr std::chrono::milliseconds while_another_reads(1);
      wait(*connection_, {.read = false, .write = true}, Clock::now() + while_another_reads);
    }
  }
  return zeros.empty();
}

void Lane::read_meanwhile() {
  {
    const std::lock_guard lock(reading_);
    if (being_read_) return;
    being_read_ = true;
  }
  const auto stop = [this] {
    const std::lock_guard lock(reading_);
    being_read_ = false;
    read_.notify_all();
  };
  try {
    read_batch(false);
  } catch (...) {
    stop();
    throw;
  }
  stop();
}

void Lane::read_until(const std::function<bool()>& done) {
  std::unique_lock lock(reading_);
  while (!done()) {
    if (being_read_) {
      read_.wait(lock);
      continue;
    }
    being_read_ = true;
    lock.unlock();
    try {
      read_batch(true);
    } catch (...) {
      lost_ = true;
      lock.lock();
      being_read_ = false;
      read_.notify_all();
      throw;
    }
    lock.lock();
    being_read_ = false;
    read_.notify_all();
  }
}

bool Lane::read_batch(bool may_wait) {
  if (in_.empty()) in_.resize(Header::size + most_frame + read_at_once);
  if (in_begin_ == in_end_) in_begin_ = in_end_ = 0;
  if (in_.size() - in_end_ < read_at_once) {
    std::memmove(in_.data(), in_.data() + in_begin_, in_end_ - in_begin_);
    in_end_ -= in_begin_;
    in_begin_ = 0;
  }
  const auto begin = Clock::now();
  for (;;) {
    if (lost_) throw ConnectionLost("the connection is closed");
    const std::size_t got = connection_->try_read({in_.data() + in_end_, in_.size() - in_end_});
    in_end_ += got;
    if (got > 0) break;
    if (!may_wait) return false;
    if (Clock::now() - begin < spin_) {
      std::this_thread::yield();
    } else {
      wait(*connection_, {.read = true}, std::nullopt);
    }
  }
  while (in_end_ - in_begin_ >= Header::size) {
    const Header header = decode_header({in_.data() + in_begin_, Header::size});
    const std::size_t whole = Header::size + header.bytes;
    if (in_end_ - in_begin_ < whole) break;
    take(header, {in_.data() + in_begin_ + Header::size, header.bytes});
    in_begin_ += whole;
  }
  return true;
}

void Lane::take(const Header& header, Bytes payload) {
  count_received(Header::size + payload.size());
  if (header.call == Call::data) {
    Bytes data;
    const auto message = decode<Data>(payload, &data);
    if (message.status != 0) return arrivals_.failed(message.transfer, message.status);
    Arrivals::Landing landing(arrivals_, message.transfer, 0, data.size());
    if (landing.to() == nullptr) throw ProtocolError("the server sent data that was not asked for");
    std::ranges::copy(data, landing.to());
    return landing.done();
  }
  if (header.call != Call::reply) throw ProtocolError("the server sent what is no answer");
  Bytes body;
  const auto reply = decode<Reply>(payload, &body);
  if (reply.latched != 0) {
    Status none = 0;
    latched_.compare_exchange_strong(none, reply.latched);
  }
  const std::lock_guard lock(reading_);
  const auto found = waiting_.find(header.request);
  if (found == waiting_.end()) throw ProtocolError("the server answered what was not asked");
  found->second->answer = {.status = reply.status, .body = {body.begin(), body.end()}};
  found->second->done = true;
  waiting_.erase(found);
}

}  // namespace gpucast::remote::client
