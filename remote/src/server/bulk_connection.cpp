#include "server/bulk.h"

#include <exception>

#include "protocol/inbox.h"

namespace gpucast::remote::server {
namespace {

// The bytes of a piece that have to arrive before the GPU is given them ahead of the rest. In a
// copy of long pieces, others keep the GPU busy meanwhile.
constexpr std::size_t worth_a_copy(std::size_t piece) {
  constexpr std::size_t parts = 4;
  return piece < piece_bytes ? std::clamp(piece / parts, std::min(piece, least_piece), piece)
                             : piece;
}

}  // namespace

BulkConnection::BulkConnection(BulkState& state, std::unique_ptr<Connection> connection,
                               std::function<void()> broke)
    : state_(state),
      connection_(std::move(connection)),
      broke_(std::move(broke)),
      between_(between_copies(std::thread::hardware_concurrency())),
      receiver_([this] { guarded([this] { receive(); }); }),
      sender_([this] { guarded([this] { send(); }); }) {}

BulkConnection::~BulkConnection() {
  receiver_.join();
  sender_.join();
}

template <class Body>
void BulkConnection::guarded(Body body) noexcept {
  try {
    body();
  } catch (const std::exception&) {
    broke_();
  }
}

bool BulkConnection::wait_for_gpu() {
  std::unique_lock lock(state_.mutex);
  wanted_.wait(lock, [&] { return state_.broken || state_.gpu != nullptr; });
  if (state_.broken) return false;
  lock.unlock();
  state_.gpu->use_in_this_thread();
  return true;
}

// ---- to the device ----

void BulkConnection::receive() {
  if (!wait_for_gpu()) return;
  for (auto patience = std::chrono::microseconds(0);; patience = between_) {
    const auto piece = read_message<Piece>(*connection_, std::nullopt, patience);
    if (piece.bytes == 0 || piece.bytes > piece_bytes) throw ProtocolError("a piece's size");
    incoming_.require(state_.gpu->driver());
    std::size_t begin = 0;
    if (!make_room(piece.bytes, begin)) return;
    receive_piece(piece, incoming_.at(begin));
  }
}

void BulkConnection::receive_piece(const Piece& piece, std::byte* data) {
  const auto incoming = std::make_shared<Incoming>();
  incoming->piece = piece;
  incoming->data = data;
  pieces_.push_back(incoming);
  const std::size_t step = worth_a_copy(piece.bytes);
  for (std::size_t come = 0; come < piece.bytes;) {
    const std::size_t before = come;
    while (come < piece.bytes && come - before < step)
      come +=
          read_some(*connection_, {data + come, piece.bytes - come}, std::nullopt, within_a_copy);
    incoming->come.store(static_cast<std::uint32_t>(come), std::memory_order_release);
    const std::lock_guard lock(state_.mutex);
    if (before == 0) state_.incoming[piece.transfer].push_back(incoming);
    ++state_.arrivals;
    state_.changed.notify_all();
  }
}

// Returns false if the connections broke. Memory that the GPU has read is returned at once, so that
// the same memory is reused while it is in the processor's caches.
bool BulkConnection::make_room(std::size_t bytes, std::size_t& begin) {
  while (give_back_oldest(false)) {
  }
  for (;;) {
    if (incoming_space_.size() < most_in_ring) {
      if (const auto free = incoming_space_.take(bytes)) {
        begin = *free;
        return true;
      }
    }
    if (!give_back_oldest(true)) return false;
  }
}

bool BulkConnection::give_back_oldest(bool wait) {
  if (pieces_.empty()) return false;
  const Incoming& oldest = *pieces_.front();
  {
    std::unique_lock lock(state_.mutex);
    if (wait) state_.taken.wait(lock, [&] { return state_.broken || oldest.taken; });
    if (!oldest.taken) return false;
  }
  if (oldest.read && !oldest.read->is_set()) {
    if (!wait) return false;
    // A GPU that has failed reads no more.
    const auto broken = [&] { return state_.broken.load(); };
    if (state_.marks->wait(*oldest.read, state_.spin, broken) == CUDA_ERROR_NOT_READY) return false;
  }
  pieces_.pop_front();
  incoming_space_.give_back_oldest();
  return true;
}

// ---- from the device ----

bool BulkConnection::queue(const Piece& piece, Address from, CUstream stream) {
  const Driver& driver = state_.gpu->driver();
  outgoing_.require(driver);
  std::unique_lock lock(state_.mutex);
  if (outgoing_space_.size() >= most_in_ring) return false;
  const auto begin = outgoing_space_.take(piece.bytes);
  if (!begin) return false;
  lock.unlock();
  std::byte* const data = outgoing_.at(*begin);
  std::shared_ptr<const GpuMark> copied;
  const CUresult status = status_of([&] {
    check(driver.cuMemcpyDtoHAsync(data, from, piece.bytes, stream));
    copied = state_.marks->queue(stream);
  });
  lock.lock();
  // It is still the newest: only the session queues.
  if (status != CUDA_SUCCESS) outgoing_space_.give_back_newest();
  check(status);
  put({.piece = piece, .data = data, .copied = std::move(copied)});
  return true;
}

bool BulkConnection::queue_failure(const Piece& piece) {
  if (sends_.size() >= most_in_ring) return false;
  put({.piece = piece});
  return true;
}

void BulkConnection::put(Send send) {
  sends_.push_back(std::move(send));
  ++waiting_;
  wake();
}

void BulkConnection::send() {
  if (!wait_for_gpu()) return;
  const auto broken = [&] { return state_.broken.load(); };
  for (auto patience = std::chrono::microseconds(0);; patience = between_) {
    look_for(patience, [&] { return broken() || waiting_ != 0; });
    std::unique_lock lock(state_.mutex);
    wanted_.wait(lock, [&] { return broken() || !sends_.empty(); });
    if (broken()) return;
    Send next = std::move(sends_.front());
    sends_.pop_front();
    --waiting_;
    lock.unlock();
    Bytes data;
    if (next.copied) {
      next.piece.status = state_.marks->wait(*next.copied, state_.spin, broken);
      if (broken()) return;
      if (next.piece.status == CUDA_SUCCESS) data = {next.data, next.piece.bytes};
    }
    write_all(*connection_, packed(next.piece), data);
    const bool is_in_ring = next.copied != nullptr;
    next.copied = nullptr;
    lock.lock();
    if (is_in_ring) outgoing_space_.give_back_oldest();
    state_.changed.notify_all();
  }
}

}  // namespace gpucast::remote::server
