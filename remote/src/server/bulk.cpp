#include "server/bulk.h"

#include <algorithm>
#include <array>
#include <deque>
#include <exception>
#include <thread>

#include "server/ring_space.h"
#include "transport/patience.h"

namespace gpucast::remote::server {
namespace {

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
  void wake() { wanted_.notify_all(); }
  void shut_down() {
    connection_->shut_down();
    wake();
  }

  // Queues a copy of device memory and its sending; false, and nothing, while there is no room.
  bool queue(const Piece& piece, Address from, CUstream stream) {
    const Driver& driver = bulk_.gpu_->driver();
    outgoing_.require(driver);
    std::unique_lock lock(bulk_.mutex_);
    const auto begin = outgoing_space_.take(piece.bytes);
    if (!begin) return false;
    auto copied = idle_events_.empty() ? nullptr : std::move(idle_events_.back());
    if (copied) idle_events_.pop_back();
    lock.unlock();
    std::byte* const data = outgoing_.at(*begin);
    const CUresult status = status_of([&] {
      if (!copied) copied = std::make_unique<Event>(driver, CU_EVENT_DISABLE_TIMING);
      check(driver.cuMemcpyDtoHAsync(data, from, piece.bytes, stream));
      check(driver.cuEventRecord(copied->get(), stream));
    });
    lock.lock();
    // Still the newest: the session alone queues.
    if (status != CUDA_SUCCESS) outgoing_space_.give_back_newest();
    check(status);
    sends_.push_back({.piece = piece, .data = data, .copied = std::move(copied)});
    wake();
    return true;
  }
  // Under the lock.
  void queue_failure(const Piece& piece) {
    sends_.push_back({.piece = piece});
    wake();
  }

 private:
  // Pinned memory, made when it is first needed. Never freed: the process ends with the client.
  class Ring {
   public:
    void require(const Driver& driver) {
      if (memory_ == nullptr) check(driver.cuMemHostAlloc(&memory_, piece_ring_bytes, 0));
    }
    std::byte* at(std::size_t offset) const { return static_cast<std::byte*>(memory_) + offset; }

   private:
    void* memory_ = nullptr;
  };
  struct Send {
    Piece piece;
    std::byte* data = nullptr;
    std::unique_ptr<Event> copied = nullptr;
  };

  template <class Body>
  void guarded(Body body) noexcept {
    try {
      body();
    } catch (const std::exception&) {
      bulk_.break_off();  // the session ends with a broken connection
    }
  }

  bool wait_for_gpu() {
    std::unique_lock lock(bulk_.mutex_);
    wanted_.wait(lock, [&] { return bulk_.broken_ || bulk_.gpu_ != nullptr; });
    return !bulk_.broken_;
  }

  // ---- to the device ----

  void receive() {
    if (!wait_for_gpu()) return;
    bulk_.gpu_->use_in_this_thread();
    const Driver& driver = bulk_.gpu_->driver();
    Ring ring;
    RingSpace space(piece_ring_bytes);
    std::deque<std::unique_ptr<Event>> read;  // by the GPU, of each piece in the ring
    for (bool more = false;;) {
      std::array<std::byte, Piece::size> head{};
      read_all(*connection_, head, more ? within_a_copy : std::chrono::microseconds(0));
      const auto piece = decode<Piece>(head);
      if (piece.bytes == 0 || piece.bytes > piece_bytes) throw ProtocolError("a piece's size");
      ring.require(driver);
      std::unique_ptr<Event> copied;
      auto begin = space.take(piece.bytes);
      while (!begin || space.size() > most_in_ring) {
        copied = std::move(read.front());
        read.pop_front();
        driver.cuEventSynchronize(copied->get());
        space.give_back_oldest();
        if (!begin) begin = space.take(piece.bytes);
      }
      if (!copied) copied = std::make_unique<Event>(driver, CU_EVENT_DISABLE_TIMING);
      std::byte* const data = ring.at(*begin);
      read_all(*connection_, {data, piece.bytes}, within_a_copy);
      if (!pass_on(piece, data, *copied, more)) return;
      read.push_back(std::move(copied));
    }
  }

  // Waits for the session to come to the transfer, then queues the copy on its stream. `more` of
  // the transfer is to come then, over whichever connection.
  bool pass_on(const Piece& piece, const std::byte* data, const Event& copied, bool& more) {
    std::unique_lock lock(bulk_.mutex_);
    const auto found = [&] { return bulk_.incoming_.find(piece.transfer); };
    bulk_.announced_.wait(lock, [&] { return bulk_.broken_ || found() != bulk_.incoming_.end(); });
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
      check(
          driver.cuMemcpyHtoDAsync(transfer.to + piece.offset, data, piece.bytes, transfer.stream));
      check(driver.cuEventRecord(copied.get(), transfer.stream));
    });
    lock.lock();
    const auto entry = found();
    if (entry == bulk_.incoming_.end() || entry->second.left < piece.bytes) {
      throw ProtocolError("a piece came twice");
    }
    entry->second.left -= piece.bytes;
    if (entry->second.status == CUDA_SUCCESS) entry->second.status = status;
    more = entry->second.left != 0;
    if (!more) {
      ++bulk_.arrived_;
      bulk_.changed_.notify_all();
    }
    return true;
  }

  // ---- from the device ----

  void send() {
    if (!wait_for_gpu()) return;
    bulk_.gpu_->use_in_this_thread();
    for (;;) {
      std::unique_lock lock(bulk_.mutex_);
      wanted_.wait(lock, [&] { return bulk_.broken_ || !sends_.empty(); });
      if (bulk_.broken_) return;
      Send next = std::move(sends_.front());
      sends_.pop_front();
      lock.unlock();
      Bytes data;
      if (next.copied) {
        const CUresult status = bulk_.gpu_->driver().cuEventSynchronize(next.copied->get());
        next.piece.status = status;
        if (status == CUDA_SUCCESS) data = {next.data, next.piece.bytes};
      }
      std::vector<std::byte> head;
      Writer writer(head);
      writer(next.piece);
      write_all(*connection_, head, data);
      if (!next.copied) continue;
      lock.lock();
      outgoing_space_.give_back_oldest();
      idle_events_.push_back(std::move(next.copied));
      bulk_.changed_.notify_all();
    }
  }

  // Events and pieces of a ring are counted, too, so that short pieces take no more of them.
  static constexpr std::size_t most_in_ring = piece_ring_bytes / least_piece;

  Bulk& bulk_;
  std::unique_ptr<Connection> connection_;
  Ring outgoing_;
  // Under the lock, as is what is to be sent, and events that nobody waits for.
  RingSpace outgoing_space_{piece_ring_bytes};
  std::deque<Send> sends_;
  std::vector<std::unique_ptr<Event>> idle_events_;
  std::condition_variable wanted_;  // by either thread: the GPU, or something to send
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

void Bulk::serve(const Gpu& gpu, std::chrono::microseconds spin) {
  const std::lock_guard lock(mutex_);
  gpu_ = &gpu;
  spin_ = spin;
  for (const auto& connection : connections_)
    connection->wake();
}

void Bulk::break_off() {
  const std::lock_guard lock(mutex_);
  broken_ = true;
  for (const auto& connection : connections_)
    connection->shut_down();
  announced_.notify_all();
  changed_.notify_all();
}

CUresult Bulk::to_device(const CopyToBulk& call, CUstream stream, CUresult status,
                         const Tend& tend) {
  std::unique_lock lock(mutex_);
  const std::uint64_t before = arrived_;
  Incoming& transfer = incoming_[call.transfer];
  transfer = {
      .to = call.to, .stream = stream, .bytes = call.bytes, .left = call.bytes, .status = status};
  announced_.notify_all();
  // One at a time comes here, so that the next that arrives is this one.
  const auto over = [&] { return broken_ || arrived_ != before; };
  lock.unlock();
  look_for(spin_, tend, over);
  lock.lock();
  while (!changed_.wait_for(lock, moment, [&] { return over() || transfer.left == 0; })) {
    lock.unlock();
    tend();
    lock.lock();
  }
  if (broken_) throw ConnectionLost("a bulk connection broke");
  const CUresult result = transfer.status;
  incoming_.erase(call.transfer);
  return result;
}

bool Bulk::from_device(BulkCopy& copy) {
  const std::uint64_t bytes = copy.call.bytes;
  while (copy.queued < bytes || copy.status != CUDA_SUCCESS) {
    std::unique_lock lock(mutex_);
    if (broken_) throw ConnectionLost("a bulk connection broke");
    if (connections_.size() < copy.call.connections) return false;  // on their way
    const std::uint64_t most = copy.call.piece;
    BulkConnection& connection = *connections_[copy.queued / most % copy.call.connections];
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
    bool has_room = true;
    copy.status = status_of(
        [&] { has_room = connection.queue(piece, copy.call.from + copy.queued, copy.stream); });
    if (!has_room) return false;
    if (copy.status == CUDA_SUCCESS) copy.queued += piece.bytes;
  }
  return true;
}

void Bulk::wait_for_room(std::chrono::microseconds longest) {
  std::unique_lock lock(mutex_);
  if (!broken_) changed_.wait_for(lock, longest);
}

}  // namespace gpucast::remote::server
