#include "server/bulk.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <deque>
#include <exception>
#include <thread>

namespace gpucast::remote::server {
namespace {

constexpr std::size_t slots_each_way = 8;  // of piece_bytes
constexpr std::chrono::microseconds moment(100);

}  // namespace

// A connection with a thread for each direction, and the pinned memory that they use.
class Bulk::BulkConnection {
 public:
  BulkConnection(Bulk& bulk, std::unique_ptr<Connection> connection)
      : bulk_(bulk),
        connection_(std::move(connection)),
        receiver_([this] { guarded([this] { receive(); }); }),
        sender_([this] { guarded([this] { send(); }); }) {}
  ~BulkConnection() {
    connection_->shut_down();
    receiver_.join();
    sender_.join();
  }
  BulkConnection(const BulkConnection&) = delete;
  BulkConnection& operator=(const BulkConnection&) = delete;

  // Under the lock.
  bool has_slot() const { return queued_ < slots_each_way; }
  void shut_down() const { connection_->shut_down(); }

  // Queues a copy of device memory and its sending; has_slot() before.
  void queue(const Piece& piece, Address from, CUstream stream) {
    const Driver& driver = bulk_.gpu_->driver();
    if (outgoing_.empty()) allocate(outgoing_);
    Slot& slot = outgoing_[next_++ % outgoing_.size()];
    check(driver.cuMemcpyDtoHAsync(slot.data, from, piece.bytes, stream));
    check(driver.cuEventRecord(slot.copied->get(), stream));
    const std::lock_guard lock(bulk_.mutex_);
    queue(piece, &slot);
  }
  // Under the lock.
  void queue_failure(const Piece& piece) { queue(piece, nullptr); }

 private:
  struct Slot {
    void* data = nullptr;
    std::unique_ptr<Event> copied;
  };
  void queue(const Piece& piece, Slot* slot) {
    sends_.push_back({piece, slot});
    ++queued_;
    bulk_.changed_.notify_all();
  }
  struct Send {
    Piece piece;
    Slot* slot = nullptr;
  };

  template <class Body>
  void guarded(Body body) noexcept {
    try {
      body();
    } catch (const std::exception&) {
      bulk_.break_off();  // the session ends with a broken connection
    }
  }

  // Never freed: the process ends with the client.
  void allocate(std::vector<Slot>& slots) const {
    const Driver& driver = bulk_.gpu_->driver();
    void* memory = nullptr;
    check(driver.cuMemHostAlloc(&memory, slots_each_way * piece_bytes, 0));
    for (std::size_t k = 0; k < slots_each_way; ++k) {
      slots.push_back({.data = static_cast<std::byte*>(memory) + k * piece_bytes,
                       .copied = std::make_unique<Event>(driver, CU_EVENT_DISABLE_TIMING)});
    }
  }

  bool wait_for_gpu() {
    std::unique_lock lock(bulk_.mutex_);
    bulk_.changed_.wait(lock, [&] { return bulk_.broken_ || bulk_.gpu_ != nullptr; });
    return !bulk_.broken_;
  }

  void receive() {
    if (!wait_for_gpu()) return;
    bulk_.gpu_->use_in_this_thread();
    const Driver& driver = bulk_.gpu_->driver();
    std::vector<Slot> slots;
    for (std::size_t k = 0;; ++k) {
      std::array<std::byte, Piece::size> head{};
      read_all(*connection_, head);
      const auto piece = decode<Piece>(head);
      if (piece.bytes == 0 || piece.bytes > piece_bytes) throw ProtocolError("a piece's size");
      if (slots.empty()) allocate(slots);
      const Slot& slot = slots[k % slots.size()];
      driver.cuEventSynchronize(slot.copied->get());  // its last copy; nothing before the first
      read_all(*connection_, {static_cast<std::byte*>(slot.data), piece.bytes});
      if (!pass_on(piece, slot)) return;
    }
  }

  // Waits for the session to come to the transfer, then queues the copy on its stream.
  bool pass_on(const Piece& piece, const Slot& slot) {
    std::unique_lock lock(bulk_.mutex_);
    const auto found = [&] { return bulk_.incoming_.find(piece.transfer); };
    bulk_.changed_.wait(lock, [&] { return bulk_.broken_ || found() != bulk_.incoming_.end(); });
    if (bulk_.broken_) return false;
    const Incoming transfer = found()->second;
    if (piece.offset > transfer.bytes || piece.bytes > transfer.bytes - piece.offset ||
        piece.bytes > transfer.left) {
      throw ProtocolError("a piece lies outside its transfer");
    }
    lock.unlock();
    const CUresult status = status_of([&] {
      const Driver& driver = bulk_.gpu_->driver();
      check(transfer.status);
      check(driver.cuMemcpyHtoDAsync(transfer.to + piece.offset, slot.data, piece.bytes,
                                     transfer.stream));
      check(driver.cuEventRecord(slot.copied->get(), transfer.stream));
    });
    lock.lock();
    const auto entry = found();
    if (entry == bulk_.incoming_.end() || entry->second.left < piece.bytes) {
      throw ProtocolError("a piece came twice");
    }
    entry->second.left -= piece.bytes;
    if (entry->second.status == CUDA_SUCCESS) entry->second.status = status;
    bulk_.changed_.notify_all();
    return true;
  }

  void send() {
    if (!wait_for_gpu()) return;
    bulk_.gpu_->use_in_this_thread();
    for (;;) {
      std::unique_lock lock(bulk_.mutex_);
      bulk_.changed_.wait(lock, [&] { return bulk_.broken_ || !sends_.empty(); });
      if (bulk_.broken_) return;
      Send next = sends_.front();
      sends_.pop_front();
      lock.unlock();
      Bytes data;
      if (next.slot != nullptr) {
        const CUresult status = bulk_.gpu_->driver().cuEventSynchronize(next.slot->copied->get());
        next.piece.status = status;
        if (status == CUDA_SUCCESS) {
          data = {static_cast<const std::byte*>(next.slot->data), next.piece.bytes};
        }
      }
      std::vector<std::byte> head;
      Writer writer(head);
      writer(next.piece);
      write_all(*connection_, head, data);
      lock.lock();
      --queued_;
      bulk_.changed_.notify_all();
    }
  }

  Bulk& bulk_;
  std::unique_ptr<Connection> connection_;
  std::vector<Slot> outgoing_;
  std::size_t next_ = 0;
  // Under the lock: to be sent, and how many slots that occupies.
  std::deque<Send> sends_;
  std::size_t queued_ = 0;
  std::thread receiver_;
  std::thread sender_;
};

Bulk::Bulk() = default;

Bulk::~Bulk() { break_off(); }

void Bulk::add(std::unique_ptr<Connection> connection) {
  const std::lock_guard lock(mutex_);
  if (connections_.size() >= most_bulk_connections) return;
  connections_.push_back(std::make_unique<BulkConnection>(*this, std::move(connection)));
  changed_.notify_all();
}

void Bulk::serve(const Gpu& gpu) {
  const std::lock_guard lock(mutex_);
  gpu_ = &gpu;
  changed_.notify_all();
}

void Bulk::break_off() {
  const std::lock_guard lock(mutex_);
  broken_ = true;
  for (const auto& connection : connections_)
    connection->shut_down();
  changed_.notify_all();
}

CUresult Bulk::to_device(const CopyToBulk& call, CUstream stream, CUresult status,
                         const Tend& tend) {
  std::unique_lock lock(mutex_);
  incoming_[call.transfer] = {
      .to = call.to, .stream = stream, .bytes = call.bytes, .left = call.bytes, .status = status};
  changed_.notify_all();
  const auto done = [&] { return broken_ || incoming_[call.transfer].left == 0; };
  while (!changed_.wait_for(lock, moment, done)) {
    lock.unlock();
    tend();
    lock.lock();
  }
  if (broken_) throw ConnectionLost("a bulk connection broke");
  const CUresult result = incoming_[call.transfer].status;
  incoming_.erase(call.transfer);
  return result;
}

bool Bulk::from_device(BulkCopy& copy) {
  const std::uint64_t bytes = copy.call.bytes;
  while (copy.queued < bytes || copy.status != CUDA_SUCCESS) {
    std::unique_lock lock(mutex_);
    if (broken_) throw ConnectionLost("a bulk connection broke");
    if (connections_.empty()) return false;
    const std::size_t most = piece_of(bytes, connections_.size());
    BulkConnection& connection = *connections_[copy.queued / most % connections_.size()];
    if (!connection.has_slot()) return false;
    Piece piece{.transfer = copy.call.transfer,
                .offset = copy.queued,
                .bytes = static_cast<std::uint32_t>(std::min(most, bytes - copy.queued)),
                .status = copy.status};
    if (copy.status != CUDA_SUCCESS) {
      piece.bytes = 0;
      connection.queue_failure(piece);
      return true;
    }
    lock.unlock();
    copy.status =
        status_of([&] { connection.queue(piece, copy.call.from + copy.queued, copy.stream); });
    if (copy.status == CUDA_SUCCESS) copy.queued += piece.bytes;
  }
  return true;
}

void Bulk::wait_for_room(std::chrono::microseconds longest) {
  std::unique_lock lock(mutex_);
  if (!broken_) changed_.wait_for(lock, longest);
}

}  // namespace gpucast::remote::server
