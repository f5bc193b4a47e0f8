#include "client/staged_copies.h"

#include <atomic>
#include <deque>
#include <exception>
#include <optional>
#include <system_error>
#include <thread>

#include "client/gpu.h"
#include "gpucast/support/quiet_thread.h"
#include "transport/patience.h"

namespace gpucast::remote::client {
namespace {

constexpr Id staging_segment = 0;  // the ids of pinned memory's segments begin at 1
constexpr std::size_t slots_each_way = 8;
constexpr std::size_t slot_bytes = std::size_t{512} << 10;
// One processor copies more slowly than the GPU, but starting threads pays only for long copies.
constexpr std::size_t least_for_threads = std::size_t{8} << 20;
constexpr unsigned most_threads = 3;

// The size of a piece, so that a short copy has several pieces, too.
std::size_t piece_for(std::size_t bytes) {
  constexpr std::size_t connections = 4;
  return std::min(piece_of(bytes, connections), slot_bytes);
}

unsigned threads_for(std::size_t bytes) {
  constexpr unsigned cores_each = 4;  // leaves cores for other work
  if (bytes < least_for_threads) return 0;
  return std::min(most_threads, std::thread::hardware_concurrency() / cores_each);
}

}  // namespace

std::unique_ptr<StagedCopies> StagedCopies::make(Gpu& gpu, ControlConnection& control) {
  try {
    SharedMemory memory = SharedMemory::make(2 * slots_each_way * slot_bytes);
    if (!gpu.map_segment(staging_segment, memory)) return nullptr;
    memory.close_file();
    return std::make_unique<StagedCopies>(gpu, control, std::move(memory));
  } catch (const std::runtime_error&) {
    return nullptr;
  }
}

StagedCopies::StagedCopies(Gpu& gpu, ControlConnection& control, SharedMemory memory)
    : gpu_(gpu), control_(control), memory_(std::move(memory)) {
  for (std::size_t k = 0; k < 2 * slots_each_way; ++k)
    (k < slots_each_way ? out_ : in_).all.push_back({.offset = k * slot_bytes});
}

// ---- slots ----

StagedCopies::Slot* StagedCopies::take_now(Slots& slots) {
  const std::lock_guard lock(slots.mutex);
  for (Slot& slot : slots.all) {
    if (slot.notice != 0 && control_.notices.come(slot.notice)) slot = {.offset = slot.offset};
    if (!std::exchange(slot.taken, true)) return &slot;
  }
  return nullptr;
}

// Slots are freed by the server's notices and by other threads.
StagedCopies::Slot& StagedCopies::take(Slots& slots) {
  constexpr std::chrono::microseconds looking(200);
  constexpr std::chrono::milliseconds moment(1);
  const auto begin = Clock::now();
  for (;;) {
    if (Slot* slot = take_now(slots)) return *slot;
    control_.read_meanwhile();
    if (const auto since = Clock::now() - begin; since < looking) {
      look_again(since);
    } else {
      std::unique_lock lock(slots.mutex);
      slots.freed.wait_for(lock, moment);
    }
  }
}

void StagedCopies::free(Slots& slots, Slot& slot, Id notice) {
  const std::lock_guard lock(slots.mutex);
  slot.notice = notice;
  slot.taken = notice != 0;
  slots.freed.notify_all();
}

// ---- copies ----

// Calls `work(program, failed)` here and, if that is worth it, in other threads, until each
// returns. Rethrows the first exception; `failed` tells the others about it.
template <class Work>
void StagedCopies::share_out(std::size_t bytes, Work work) {
  std::atomic<bool> failed{false};
  std::exception_ptr thrown;
  const auto guarded = [&](ProgramMemory& program) {
    try {
      work(program, failed);
    } catch (...) {
      if (!failed.exchange(true)) thrown = std::current_exception();
    }
  };
  std::vector<std::thread> threads;
  threads.reserve(most_threads);
  for (unsigned k = 0; k < threads_for(bytes); ++k) {
    try {
      threads.push_back(support::quiet_thread([&guarded] {
        ProgramMemory program;
        guarded(program);
      }));
    } catch (const std::system_error&) {
      break;  // the maximum is reached
    }
  }
  guarded(program_);
  for (std::thread& thread : threads)
    thread.join();
  if (thrown) std::rethrow_exception(thrown);
}

void StagedCopies::put(Address to, Bytes data, Id stream, bool fence, ProgramMemory& program) {
  if (!program.may_read(data)) require(status_bad_memory);
  Slot& slot = take(out_);
  std::memcpy(at(slot), data.data(), data.size());
  const Id notice = gpu_.is_synchronous() ? 0 : gpu_.new_id();
  if (notice != 0) control_.notices.expect(notice);
  const CopyToShared message{.to = to,
                             .segment = staging_segment,
                             .offset = slot.offset,
                             .bytes = data.size(),
                             .stream = stream,
                             .transfer = notice,
                             .fence = fence};
  const Status status = status_of([&] { gpu_.send(message); });
  free(out_, slot, notice);
  require(status);
}

void StagedCopies::to_device(Address to, Bytes data, Id stream, bool fence) {
  const std::size_t piece = piece_for(data.size());
  // The last piece is sent after all others, whichever thread sends those: it carries the fence.
  const std::size_t last = (data.size() - 1) / piece * piece;
  std::atomic<std::size_t> next{0};
  share_out(last, [&](ProgramMemory& program, const auto& failed) {
    for (std::size_t at = 0; !failed && (at = next.fetch_add(piece)) < last;)
      put(to + at, data.subspan(at, piece), stream, false, program);
  });
  put(to + last, data.subspan(last), stream, fence, program_);
}

StagedCopies::Piece StagedCopies::ask(Slot& slot, Address from, std::size_t offset,
                                      std::size_t bytes, Id stream) {
  const Id notice = gpu_.new_id();
  control_.notices.expect(notice);
  const CopyFromShared message{.from = from + offset,
                               .segment = staging_segment,
                               .offset = slot.offset,
                               .bytes = bytes,
                               .stream = stream,
                               .transfer = notice};
  const Status status = status_of([&] { gpu_.send(message); });
  // The answer has taken its place, or none will come.
  if (gpu_.is_synchronous() || status != 0) control_.notices.take(notice, status);
  return {.slot = &slot, .notice = notice, .offset = offset, .bytes = bytes};
}

// Waits for the piece and copies it out.
Status StagedCopies::get(const Piece& piece, std::span<std::byte> to, ProgramMemory* program) {
  std::optional<Status> come = control_.notices.come(piece.notice);
  if (!come)
    control_.read_until([&] { return (come = control_.notices.come(piece.notice)).has_value(); });
  Status status = come.value_or(status_lost);
  const std::span<std::byte> part = to.subspan(piece.offset, piece.bytes);
  if (status == 0 && program != nullptr && !program->may_write(part)) status = status_bad_memory;
  if (status == 0) std::memcpy(part.data(), at(*piece.slot), part.size());
  free(in_, *piece.slot);
  return status;
}

void StagedCopies::from_device(std::span<std::byte> to, Address from, Id stream) {
  const std::size_t piece = piece_for(to.size());
  const bool looks = to.size() > most_inline;
  std::atomic<std::size_t> next{0};
  const std::size_t most_asked = threads_for(to.size()) == 0 ? slots_each_way / 2 : 2;
  share_out(to.size(), [&](ProgramMemory& program, const auto& failed) {
    std::deque<Piece> asked;
    Status result = 0;
    for (bool more = true; more || !asked.empty();) {
      more = more && result == 0 && !failed;
      if (more && asked.size() < most_asked) {
        // A thread that holds slots does not wait for more: others may wait for its slots.
        Slot* slot = asked.empty() ? &take(in_) : take_now(in_);
        const std::size_t offset = slot == nullptr ? 0 : next.fetch_add(piece);
        if (slot != nullptr && offset < to.size()) {
          asked.push_back(ask(*slot, from, offset, std::min(piece, to.size() - offset), stream));
          continue;
        }
        if (slot != nullptr) {
          free(in_, *slot);
          more = false;
        }
      }
      if (asked.empty()) continue;
      const Status status = get(asked.front(), to, looks ? &program : nullptr);
      asked.pop_front();
      if (result == 0) result = status;
    }
    require(result);
  });
}

}  // namespace gpucast::remote::client
