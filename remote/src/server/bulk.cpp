#include "server/bulk.h"

namespace gpucast::remote::server {
namespace {

constexpr std::chrono::microseconds moment(100);
constexpr std::chrono::microseconds longest_moment(1000);

// The GPU is marked often enough that a ring has room again before it is full, even of short
// pieces.
constexpr std::size_t most_unmarked = most_in_ring / 2;

}  // namespace

Bulk::~Bulk() { break_off(); }

// The session ends if any of its connections breaks.
void Bulk::break_off() {
  const std::lock_guard lock(state_.mutex);
  if (state_.broken.exchange(true)) return;
  for (const auto& connection : connections_)
    connection->shut_down();
  state_.changed.notify_all();
  state_.taken.notify_all();
}

void Bulk::add(std::unique_ptr<Connection> connection) {
  const std::lock_guard lock(state_.mutex);
  if (connections_.size() >= most_bulk_connections) return;
  connections_.push_back(
      std::make_unique<BulkConnection>(state_, std::move(connection), [this] { break_off(); }));
  state_.changed.notify_all();
}

void Bulk::serve(const Gpu& gpu, std::chrono::microseconds spin) {
  auto marks = std::make_unique<GpuMarks>(gpu.driver());
  const std::lock_guard lock(state_.mutex);
  state_.gpu = &gpu;
  state_.marks = std::move(marks);
  state_.spin = spin;
  for (const auto& connection : connections_)
    connection->wake();
}

// Takes pieces of the transfer that have begun to arrive. `missing`: bytes of it that have not.
void Bulk::take_new(Pieces& pieces, const CopyToBulk& call, std::uint64_t& missing) {
  const std::lock_guard lock(state_.mutex);
  const auto begun = state_.incoming.extract(call.transfer);
  if (!begun) return;
  for (auto& incoming : begun.mapped()) {
    const Piece& piece = incoming->piece;
    if (piece.offset > call.bytes || piece.bytes > call.bytes - piece.offset)
      throw ProtocolError("a piece lies outside its transfer");
    if (piece.bytes > missing) throw ProtocolError("a piece came twice");
    missing -= piece.bytes;
    pieces.push_back(std::move(incoming));
  }
}

// Queues the part of the piece that has arrived and was not queued yet.
CUresult Bulk::queue(Incoming& incoming, std::uint32_t bytes, Address to, CUstream stream) const {
  return state_.gpu->driver().cuMemcpyHtoDAsync(to + incoming.piece.offset + incoming.queued,
                                                incoming.data + incoming.queued, bytes, stream);
}

// Returns the pieces' memory to their connections once the GPU sets the mark.
void Bulk::release(Pieces& pieces, const std::shared_ptr<const GpuMark>& read) {
  const std::lock_guard lock(state_.mutex);
  for (const auto& incoming : pieces) {
    incoming->read = read;
    incoming->taken = true;
  }
  pieces.clear();
  state_.taken.notify_all();
}

// Waits until more than `seen` has arrived, or the connections break.
void Bulk::wait_for_more(std::uint64_t seen, const Tend& tend) {
  const auto over = [&] { return state_.broken || state_.arrivals != seen; };
  if (look_for(state_.spin, tend, over)) return;
  std::unique_lock lock(state_.mutex);
  for (auto pause = moment; !state_.changed.wait_for(lock, pause, over);
       pause = std::min(2 * pause, longest_moment)) {
    lock.unlock();
    tend();
    lock.lock();
  }
}

// Only the session's thread calls the driver: concurrent calls wait for one another.
CUresult Bulk::to_device(const CopyToBulk& call, CUstream stream, CUresult status,
                         const Tend& tend) {
  Pieces coming;
  Pieces whole;
  std::uint64_t bytes_whole = 0;
  bool reads = false;  // whether the GPU reads anything since the last mark
  std::shared_ptr<const GpuMark> read;
  auto tended = Clock::now();
  const auto tend_now = [&] {
    tend();
    tended = Clock::now();
  };
  std::uint64_t left = call.bytes;  // bytes that are not queued
  for (std::uint64_t missing = call.bytes; left > 0;) {
    if (state_.broken) throw ConnectionLost("a bulk connection broke");
    const std::uint64_t seen = state_.arrivals;
    take_new(coming, call, missing);
    // Another call of the client may have freed the memory meanwhile.
    if (status == CUDA_SUCCESS)
      status = status_of([&] { state_.gpu->require_held(call.to, call.bytes); });
    for (auto& incoming : coming) {
      const std::uint32_t come = incoming->come.load(std::memory_order_acquire);
      const std::uint32_t bytes = come - incoming->queued;
      if (bytes == 0) continue;
      if (status == CUDA_SUCCESS) {
        status = queue(*incoming, bytes, call.to, stream);
        reads = true;
      }
      incoming->queued = come;
      left -= bytes;
      if (come < incoming->piece.bytes) continue;
      bytes_whole += come;
      whole.push_back(std::move(incoming));
    }
    std::erase(coming, nullptr);
    if (left == 0 || bytes_whole >= piece_bytes || whole.size() >= most_unmarked) {
      if (std::exchange(reads, false)) {
        const CUresult marked = status_of([&] { read = state_.marks->queue(stream); });
        if (status == CUDA_SUCCESS) status = marked;
      }
      release(whole, read);
      bytes_whole = 0;
    }
    if (left == 0) break;
    const bool more = state_.arrivals != seen;
    if (!more || Clock::now() - tended > moment) tend_now();
    if (!more) wait_for_more(seen, tend_now);
  }
  return status;
}

bool Bulk::from_device(BulkCopy& copy) {
  const std::uint64_t bytes = copy.call.bytes;
  while (copy.queued < bytes || copy.status != CUDA_SUCCESS) {
    std::unique_lock lock(state_.mutex);
    if (state_.broken) throw ConnectionLost("a bulk connection broke");
    // The connections are still being opened.
    if (connections_.size() < copy.call.connections) return false;
    const std::uint64_t most = copy.call.piece;
    BulkConnection& connection = *connections_[copy.queued / most % copy.call.connections];
    Piece piece{.transfer = copy.call.transfer,
                .offset = copy.queued,
                .bytes = static_cast<std::uint32_t>(std::min(most, bytes - copy.queued)),
                .status = copy.status};
    if (copy.status != CUDA_SUCCESS) {
      piece.bytes = 0;
      return connection.queue_failure(piece);
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
  std::unique_lock lock(state_.mutex);
  if (!state_.broken) state_.changed.wait_for(lock, longest);
}

}  // namespace gpucast::remote::server
