#include "client/bulk_connections.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <exception>

#include "client/quiet_thread.h"
#include "client/status.h"

namespace gpucast::remote::client {

BulkConnections::BulkConnections(std::vector<std::unique_ptr<Connection>> connections,
                                 PendingReceives& receives,
                                 std::function<void(const std::string&)> lost)
    : receives_(receives), lost_(std::move(lost)) {
  for (auto& connection : connections) {
    connections_.push_back(std::make_unique<BulkConnection>());
    connections_.back()->connection = std::move(connection);
  }
  for (const auto& bulk : connections_) {
    bulk->sender = quiet_thread([this, each = bulk.get()] { guarded([&] { send_parts(*each); }); });
    bulk->receiver =
        quiet_thread([this, each = bulk.get()] { guarded([&] { receive_pieces(*each); }); });
  }
}

BulkConnections::~BulkConnections() {
  shut_down();
  join();
}

void BulkConnections::join() noexcept {
  for (const auto& bulk : connections_) {
    for (std::thread* each : {&bulk->sender, &bulk->receiver}) {
      if (each->joinable()) each->join();
    }
  }
}

void BulkConnections::shut_down() noexcept {
  const std::lock_guard lock(mutex_);
  broken_ = true;
  for (const auto& bulk : connections_)
    bulk->connection->shut_down();
  changed_.notify_all();
}

void BulkConnections::send(Id transfer, Bytes data, bool waited_for) {
  const std::lock_guard lock(mutex_);
  Sending& sending = sending_[transfer];
  sending.waited_for = waited_for;
  const std::size_t most = piece_of(data.size(), connections_.size());
  for (std::size_t offset = 0, k = 0; offset < data.size(); offset += most, ++k) {
    const Bytes part = data.subspan(offset, std::min(most, data.size() - offset));
    connections_[k % connections_.size()]->parts.push_back(
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
void BulkConnections::wait_until(std::unique_lock<std::mutex>& lock, const Meanwhile& meanwhile,
                                 Done done) {
  constexpr std::chrono::milliseconds moment(1);
  while (!changed_.wait_for(lock, moment, [&] { return broken_ || done(); })) {
    lock.unlock();
    meanwhile();
    lock.lock();
  }
}

Status BulkConnections::wait_until_sent(Id transfer, const Meanwhile& meanwhile) {
  std::unique_lock lock(mutex_);
  const auto found = sending_.find(transfer);
  wait_until(lock, meanwhile, [&] { return found->second.parts == 0; });
  const Sending sending = found->second;
  sending_.erase(found);
  if (sending.parts != 0) return status_lost;
  return sending.readable ? 0 : status_bad_memory;
}

bool BulkConnections::wait_until_sent(const Meanwhile& meanwhile) {
  std::unique_lock lock(mutex_);
  const auto done = [&] {
    return std::ranges::all_of(sending_, [](const auto& each) { return each.second.parts == 0; });
  };
  wait_until(lock, meanwhile, done);
  return done();
}

void BulkConnections::sent(Id transfer, bool readable) {
  const std::lock_guard lock(mutex_);
  const auto found = sending_.find(transfer);
  if (found == sending_.end()) return;  // who waited has seen the connections break
  Sending& sending = found->second;
  if (!readable) sending.readable = false;
  if (--sending.parts != 0) return;
  if (!sending.waited_for) {
    if (!sending.readable) receives_.note_failure(status_bad_memory);
    sending_.erase(found);
  }
  changed_.notify_all();
}

template <class Body>
void BulkConnections::guarded(Body body) noexcept {
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

void BulkConnections::send_parts(BulkConnection& bulk) {
  std::vector<std::byte> head;
  for (;;) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return broken_ || !bulk.parts.empty(); });
    if (broken_) return;
    Part part = bulk.parts.front();
    bulk.parts.pop_front();
    lock.unlock();
    head.clear();
    Writer writer(head);
    writer(part.piece);
    const bool readable = write_all_or_zeros(*bulk.connection, head, part.data);
    sent_.fetch_add(1, std::memory_order_release);
    sent(part.piece.transfer, readable);
  }
}

void BulkConnections::receive_pieces(BulkConnection& bulk) {
  for (;;) {
    std::array<std::byte, Piece::size> head{};
    read_all(*bulk.connection, head);
    sent_.load(std::memory_order_acquire);
    const auto piece = decode<Piece>(head);
    if (piece.status != 0) {
      receives_.failed(piece.transfer, piece.status);
      continue;
    }
    PendingReceives::Landing landing(receives_, piece.transfer, piece.offset, piece.bytes);
    if (landing.to() != nullptr) {
      if (!read_all_or_drop(*bulk.connection, {landing.to(), piece.bytes}))
        receives_.failed(piece.transfer, status_bad_memory);
      landing.done();
    } else {
      // Another piece of this transfer has failed before.
      if (piece.bytes > piece_bytes) throw ProtocolError("a piece is too long");
      std::vector<std::byte> dropped(piece.bytes);
      read_all(*bulk.connection, dropped);
    }
  }
}

}  // namespace gpucast::remote::client
