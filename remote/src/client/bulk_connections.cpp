#include "client/bulk_connections.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <exception>

#include "client/quiet_thread.h"
#include "client/status.h"
#include "transport/patience.h"

namespace gpucast::remote::client {

BulkConnections::BulkConnections(std::vector<std::unique_ptr<Connection>> connections,
                                 PendingReceives& receives, std::chrono::microseconds spin,
                                 std::function<void(const std::string&)> lost)
    : receives_(receives),
      spin_(spin),
      lost_(std::move(lost)),
      between_(between_copies(std::thread::hardware_concurrency())) {
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
  for (const auto& bulk : connections_) {
    bulk->connection->shut_down();
    bulk->wanted.notify_all();
  }
  changed_.notify_all();
}

void BulkConnections::send(Id transfer, Bytes data, Await await) {
  const bool waited_for = await != Await::nothing;
  const std::lock_guard lock(mutex_);
  Sending& sending = sending_[transfer];
  sending.waited_for = waited_for;
  const std::size_t most = piece_of(data.size(), connections_.size());
  for (std::size_t offset = 0; offset < data.size(); offset += most) {
    const Bytes part = data.subspan(offset, std::min(most, data.size() - offset));
    parts_.push_back({.piece = {.transfer = transfer,
                                .offset = offset,
                                .bytes = static_cast<std::uint32_t>(part.size())},
                      .data = part});
    ++sending.queued;
  }
  sending.left = sending.queued;
  parts_left_ += sending.queued;
  queued_ += sending.queued;
  // Who waits begins with one of the connections at once.
  const std::size_t first = await == Await::at_once ? 1 : 0;
  for (std::size_t k = first; k < connections_.size() && k < sending.queued; ++k)
    connections_[k]->wanted.notify_one();
}

// Or until the connections broke; whether it is done.
template <class Done>
bool BulkConnections::wait_until(const Meanwhile& meanwhile, Done done) {
  const auto over = [&] { return broken_ || done(); };
  if (!look_for(spin_, meanwhile, over)) {
    constexpr std::chrono::milliseconds moment(1);
    std::unique_lock lock(mutex_);
    while (!changed_.wait_for(lock, moment, over)) {
      lock.unlock();
      meanwhile();
      lock.lock();
    }
  }
  return done();
}

Status BulkConnections::wait_until_sent(Id transfer, const Meanwhile& meanwhile) {
  Sending* sending = nullptr;
  {
    const std::lock_guard lock(mutex_);
    sending = &sending_.at(transfer);
  }
  help(*sending, meanwhile);
  const bool whole = wait_until(meanwhile, [&] { return sending->left == 0; });
  const std::lock_guard lock(mutex_);
  const bool readable = sending->readable;
  sending_.erase(transfer);
  if (!whole) return status_lost;
  return readable ? 0 : status_bad_memory;
}

bool BulkConnections::wait_until_sent(const Meanwhile& meanwhile) {
  return wait_until(meanwhile, [&] { return parts_left_ == 0; });
}

// The next in the queue; none where it is empty, or where none of the copy `of` is left there.
std::optional<BulkConnections::Part> BulkConnections::take_part(const Sending* of) {
  const std::lock_guard lock(mutex_);
  if (broken_ || parts_.empty() || (of != nullptr && of->queued == 0)) return std::nullopt;
  Part part = parts_.front();
  parts_.pop_front();
  --queued_;
  --sending_.at(part.piece.transfer).queued;
  return part;
}

void BulkConnections::write(BulkConnection& bulk, const Part& part,
                            const std::function<void()>& blocked) {
  bulk.head.clear();
  Writer writer(bulk.head);
  writer(part.piece);
  const bool readable = write_all_or_zeros(*bulk.connection, bulk.head, part.data, blocked);
  sent_.fetch_add(1, std::memory_order_release);
  sent(part.piece.transfer, readable);
}

// By the thread that waits, over a connection whose sender does not write.
void BulkConnections::help(const Sending& sending, const Meanwhile& meanwhile) {
  for (const auto& bulk : connections_) {
    const std::unique_lock writing(bulk->writing, std::try_to_lock);
    if (!writing) continue;
    const auto blocked = [&] {
      meanwhile();
      constexpr std::chrono::milliseconds moment(1);
      bulk->connection->wait({.write = true}, Clock::now() + moment);
    };
    while (const auto part = take_part(&sending))
      write(*bulk, *part, blocked);
    // A part of another copy is left, whose thread found no connection.
    const std::lock_guard lock(mutex_);
    if (!parts_.empty()) bulk->wanted.notify_one();
    return;
  }
}

void BulkConnections::sent(Id transfer, bool readable) {
  const std::lock_guard lock(mutex_);
  --parts_left_;
  const auto found = sending_.find(transfer);
  if (found == sending_.end()) return;  // who waited has seen the connections break
  Sending& sending = found->second;
  if (!readable) sending.readable = false;
  if (--sending.left != 0) return;
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
    if (!broken_) lost_(error.what());
  }
}

void BulkConnections::send_parts(BulkConnection& bulk) {
  for (auto patience = std::chrono::microseconds(0);; patience = between_) {
    look_for(patience, [&] { return broken_ || queued_ != 0; });
    {
      std::unique_lock lock(mutex_);
      bulk.wanted.wait(lock, [&] { return broken_ || !parts_.empty(); });
    }
    if (broken_) return;
    const std::lock_guard writing(bulk.writing);
    while (const auto part = take_part())
      write(bulk, *part);
  }
}

void BulkConnections::receive_pieces(BulkConnection& bulk) {
  for (auto patience = std::chrono::microseconds(0);; patience = between_) {
    std::array<std::byte, Piece::size> head{};
    read_all(*bulk.connection, head, std::nullopt, patience);
    sent_.load(std::memory_order_acquire);
    const auto piece = decode<Piece>(head);
    if (piece.status != 0) {
      receives_.failed(piece.transfer, piece.status);
      continue;
    }
    PendingReceives::Landing landing(receives_, piece.transfer, piece.offset, piece.bytes);
    if (landing.to() != nullptr) {
      if (!read_all_or_drop(*bulk.connection, {landing.to(), piece.bytes}, within_a_copy))
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
