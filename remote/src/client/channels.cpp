#include "client/channels.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <exception>

#include "client/quiet_thread.h"
#include "client/status.h"

namespace gpucast::remote::client {

Channels::Channels(std::vector<std::unique_ptr<Connection>> connections, Arrivals& arrivals,
                   std::function<void(const std::string&)> lost)
    : arrivals_(arrivals), lost_(std::move(lost)) {
  for (auto& connection : connections) {
    channels_.push_back(std::make_unique<Channel>());
    channels_.back()->connection = std::move(connection);
  }
  for (const auto& channel : channels_) {
    channel->sender =
        quiet_thread([this, each = channel.get()] { guarded([&] { send_parts(*each); }); });
    channel->receiver =
        quiet_thread([this, each = channel.get()] { guarded([&] { receive_pieces(*each); }); });
  }
}

Channels::~Channels() {
  shut_down();
  join();
}

void Channels::join() noexcept {
  for (const auto& channel : channels_) {
    for (std::thread* each : {&channel->sender, &channel->receiver}) {
      if (each->joinable()) each->join();
    }
  }
}

void Channels::shut_down() noexcept {
  const std::lock_guard lock(mutex_);
  broken_ = true;
  for (const auto& channel : channels_)
    channel->connection->shut_down();
  changed_.notify_all();
}

void Channels::send(Id transfer, Bytes data, bool waited_for) {
  const std::lock_guard lock(mutex_);
  Sending& sending = sending_[transfer];
  sending.waited_for = waited_for;
  const std::size_t most = piece_of(data.size(), channels_.size());
  for (std::size_t offset = 0, k = 0; offset < data.size(); offset += most, ++k) {
    const Bytes part = data.subspan(offset, std::min(most, data.size() - offset));
    channels_[k % channels_.size()]->parts.push_back(
        {.piece = {.transfer = transfer,
                   .offset = offset,
                   .bytes = static_cast<std::uint32_t>(part.size())},
         .data = part});
    ++sending.parts;
  }
  changed_.notify_all();
}

// Or until the connections broke.
template <class Done>
void Channels::wait_until(std::unique_lock<std::mutex>& lock, const Meanwhile& meanwhile,
                          Done done) {
  constexpr std::chrono::milliseconds moment(1);
  while (!changed_.wait_for(lock, moment, [&] { return broken_ || done(); })) {
    lock.unlock();
    meanwhile();
    lock.lock();
  }
}

Status Channels::wait_until_sent(Id transfer, const Meanwhile& meanwhile) {
  std::unique_lock lock(mutex_);
  const auto found = sending_.find(transfer);
  wait_until(lock, meanwhile, [&] { return found->second.parts == 0; });
  const Sending sending = found->second;
  sending_.erase(found);
  if (sending.parts != 0) return status_lost;
  return sending.readable ? 0 : status_bad_memory;
}

bool Channels::wait_until_sent(const Meanwhile& meanwhile) {
  std::unique_lock lock(mutex_);
  const auto done = [&] {
    return std::ranges::all_of(sending_, [](const auto& each) { return each.second.parts == 0; });
  };
  wait_until(lock, meanwhile, done);
  return done();
}

void Channels::sent(Id transfer, bool readable) {
  const std::lock_guard lock(mutex_);
  const auto found = sending_.find(transfer);
  if (found == sending_.end()) return;  // who waited has seen the connections break
  Sending& sending = found->second;
  if (!readable) sending.readable = false;
  if (--sending.parts != 0) return;
  if (!sending.waited_for) {
    if (!sending.readable) arrivals_.note_failure(status_bad_memory);
    sending_.erase(found);
  }
  changed_.notify_all();
}

template <class Body>
void Channels::guarded(Body body) noexcept {
  try {
    body();
  } catch (const std::exception& error) {
    const bool expected = [&] {
      const std::lock_guard lock(mutex_);
      return broken_;
    }();
    if (!expected) lost_(error.what());
  }
}

void Channels::send_parts(Channel& channel) {
  std::vector<std::byte> head;
  for (;;) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return broken_ || !channel.parts.empty(); });
    if (broken_) return;
    Part part = channel.parts.front();
    channel.parts.pop_front();
    lock.unlock();
    head.clear();
    Writer writer(head);
    writer(part.piece);
    const bool readable = write_all_or_zeros(*channel.connection, head, part.data);
    sent_.fetch_add(1, std::memory_order_release);
    sent(part.piece.transfer, readable);
  }
}

void Channels::receive_pieces(Channel& channel) {
  for (;;) {
    std::array<std::byte, Piece::size> head{};
    read_all(*channel.connection, head);
    sent_.load(std::memory_order_acquire);
    const auto piece = decode<Piece>(head);
    if (piece.status != 0) {
      arrivals_.failed(piece.transfer, piece.status);
      continue;
    }
    Arrivals::Landing landing(arrivals_, piece.transfer, piece.offset, piece.bytes);
    if (landing.to() != nullptr) {
      if (!read_all_or_drop(*channel.connection, {landing.to(), piece.bytes}))
        arrivals_.failed(piece.transfer, status_bad_memory);
      landing.done();
    } else {
      // Another piece of this transfer has failed before.
      if (piece.bytes > piece_bytes) throw ProtocolError("a piece is too long");
      std::vector<std::byte> dropped(piece.bytes);
      read_all(*channel.connection, dropped);
    }
  }
}

}  // namespace gpucast::remote::client
