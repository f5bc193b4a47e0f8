// Memory that both ends share, on one host. The offering end makes it. An end without data to read
// sleeps at the Unix socket that stays open for this; while both ends poll, no system call is made.
#include <exception>
#include <thread>

#include "transport/carriers.h"
#include "transport/line.h"
#include "transport/program_memory.h"
#include "transport/ring.h"

namespace gpucast::remote {
namespace {

// Small enough to stay in the processor's caches: large copies use other memory.
constexpr std::size_t ring_bytes = std::size_t{256} << 10;

// The layout of the memory: the offering end writes into the first ring.
struct Layout {
  RingCursors cursors[2];                       // NOLINT(modernize-avoid-c-arrays): as it lies
  alignas(4096) std::byte data[2][ring_bytes];  // NOLINT(modernize-avoid-c-arrays)
};

class RingConnection : public Connection {
 public:
  RingConnection(std::unique_ptr<Line> line, SharedMemory memory, bool offers)
      : line_(std::move(line)),
        memory_(std::move(memory)),
        out_(layout().cursors[offers ? 0 : 1], layout().data[offers ? 0 : 1]),
        in_(layout().cursors[offers ? 1 : 0], layout().data[offers ? 1 : 0]) {
    memory_.close_file();
  }

  std::size_t try_read(std::span<std::byte> into, MemoryOf whose) override {
    // Data that was written before the end is not lost.
    const bool ended = line_->ended();
    into = into.first(std::min(into.size(), ring_bytes));
    if (whose == MemoryOf::program && !program_.may_write(into))
      throw BadMemory("memory that is not the program's");
    const std::size_t got = in_.read(into);
    if (got == 0 && ended) throw ConnectionLost("the other end closed the connection");
    return got;
  }

  std::size_t try_write(std::span<const std::byte> first, std::span<const std::byte> second,
                        MemoryOf whose_second) override {
    if (line_->ended()) throw ConnectionLost("the other end closed the connection");
    if (!out_.has_room()) return 0;
    second = second.first(std::min(second.size(), ring_bytes));
    if (whose_second == MemoryOf::program && !second.empty() && !program_.may_read(second))
      throw BadMemory("memory that is not the program's");
    const std::size_t sent = out_.write(first, second);
    if (sent > 0 && out_.takes_sleeper()) line_->ring();
    return sent;
  }

  Ready wait(Ready wanted, const Deadline& deadline) override {
    if (!wanted.read) return wait_for_room(deadline);
    in_.sleeps(true);
    if (!in_.has_data() && !line_->ended())
      line_->wait(wanted.write ? sooner(deadline, Clock::now() + longest_nap) : deadline);
    in_.sleeps(false);
    return ready(wanted);
  }

  void shut_down() noexcept override { line_->shut_down(); }

  bool shares_memory() const override { return true; }
  void give(const SharedMemory& memory) override {
    line_->give(memory, Clock::now() + std::chrono::seconds(5));
  }
  SharedMemory take(std::size_t bytes) override {
    auto taken = line_->take(bytes);
    if (!taken) throw ConnectionLost("memory that was announced was not given");
    return std::move(*taken);
  }

 private:
  static constexpr std::chrono::milliseconds longest_nap{1};

  Layout& layout() const { return *reinterpret_cast<Layout*>(memory_.bytes().data()); }

  static Deadline sooner(const Deadline& deadline, Clock::time_point other) {
    return deadline ? std::min(*deadline, other) : other;
  }

  Ready ready(Ready wanted) {
    const bool ended = line_->ended();
    return {.read = wanted.read && (ended || in_.has_data()),
            .write = wanted.write && (ended || out_.has_room())};
  }

  // Nothing wakes a thread that waits for room: the other end either reads all the time or is far
  // behind.
  Ready wait_for_room(const Deadline& deadline) {
    constexpr std::chrono::microseconds looking(100);
    const auto begin = Clock::now();
    while (!out_.has_room() && !line_->ended()) {
      const auto now = Clock::now();
      if (deadline && now >= *deadline) break;
      if (now - begin < looking)
        std::this_thread::yield();
      else
        line_->wait_for_end(sooner(deadline, now + longest_nap));
    }
    return ready({.read = false, .write = true});
  }

  std::unique_ptr<Line> line_;
  SharedMemory memory_;
  RingWriter out_;
  RingReader in_;
  ProgramMemory program_;
};

}  // namespace

std::unique_ptr<Connection> offer_rings(support::Descriptor socket, const Deadline& deadline) {
  auto line = std::make_unique<Line>(std::move(socket));
  std::optional<SharedMemory> memory;
  try {
    memory = SharedMemory::make(sizeof(Layout));
  } catch (const std::exception&) {
    line->ring();  // a byte without a descriptor
    return nullptr;
  }
  line->give(*memory, deadline);
  return std::make_unique<RingConnection>(std::move(line), std::move(*memory), true);
}

std::unique_ptr<Connection> accept_rings(support::Descriptor socket, const Deadline& deadline) {
  auto line = std::make_unique<Line>(std::move(socket));
  if (!line->wait(deadline))
    throw ConnectionLost(line->ended() ? "the other end closed the connection"
                                       : "no answer in time");
  auto memory = line->take(sizeof(Layout));
  if (!memory) return nullptr;
  return std::make_unique<RingConnection>(std::move(line), std::move(*memory), false);
}

}  // namespace gpucast::remote
