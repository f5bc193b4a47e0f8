// Large copies: pieces over the bulk connections, through rings of pinned memory, so that the
// network and the GPU's copy engine work at the same time.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <vector>

#include "protocol/calls.h"
#include "server/gpu.h"
#include "server/gpu_marks.h"
#include "server/staging.h"
#include "transport/connection.h"

namespace gpucast::remote::server {

// A piece on its way to the device, through its connection's ring.
struct Incoming {
  Piece piece;
  const std::byte* data = nullptr;
  std::atomic<std::uint32_t> come{0};  // bytes that lie in the ring
  std::uint32_t queued = 0;            // bytes that the GPU is told to copy; the session's
  // Both under the lock: whether the session is done with it, and what the GPU sets once it has
  // read it all; nothing where it reads none.
  bool taken = false;
  std::shared_ptr<const GpuMark> read;
};

// What the connections and the session share.
struct BulkState {
  std::mutex mutex;
  std::condition_variable changed;  // for the session
  std::condition_variable taken;    // of incoming pieces
  std::atomic<bool> broken{false};
  const Gpu* gpu = nullptr;
  std::unique_ptr<GpuMarks> marks;
  std::chrono::microseconds spin{0};
  // Those that have begun to come, by transfer, and how often more of any has come.
  std::unordered_map<Id, std::vector<std::shared_ptr<Incoming>>> incoming;
  std::atomic<std::uint64_t> arrivals{0};
};

// A thread for each direction, and the pinned memory that they use.
class BulkConnection {
 public:
  // `broke` is called where the connection does, from one of its threads.
  BulkConnection(BulkState& state, std::unique_ptr<Connection> connection,
                 std::function<void()> broke);
  ~BulkConnection();
  BulkConnection(const BulkConnection&) = delete;
  BulkConnection& operator=(const BulkConnection&) = delete;

  // Under the lock.
  void wake() { wanted_.notify_all(); }
  void shut_down() {
    connection_->shut_down();
    wake();
  }
  // A piece without data that tells why; false, and nothing, while too much is unsent.
  bool queue_failure(const Piece& piece);

  // By the session, and not under the lock. Queues a copy of device memory and its sending; false,
  // and nothing, while there is no room. DriverError.
  bool queue(const Piece& piece, Address from, CUstream stream);

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
    const std::byte* data = nullptr;
    std::shared_ptr<const GpuMark> copied = nullptr;
  };

  template <class Body>
  void guarded(Body body) noexcept;
  bool wait_for_gpu();

  void receive();
  void receive_piece(const Piece& piece, std::byte* data);
  bool make_room(std::size_t bytes, std::size_t& begin);
  bool give_back_oldest(bool wait);

  void put(Send send);
  void send();

  BulkState& state_;
  std::unique_ptr<Connection> connection_;
  std::function<void()> broke_;
  std::chrono::microseconds between_;  // copies, it looks for the next
  // The receiver's.
  Ring incoming_;
  RingSpace incoming_space_{piece_ring_bytes};
  std::deque<std::shared_ptr<Incoming>> pieces_;  // in that ring
  // Under the lock, but for the memory itself.
  Ring outgoing_;
  RingSpace outgoing_space_{piece_ring_bytes};
  std::deque<Send> sends_;
  std::atomic<std::size_t> waiting_{0};  // of these
  std::condition_variable wanted_;       // by either thread: the GPU, or something to send
  std::thread receiver_;
  std::thread sender_;
};

// To the client.
struct BulkCopy {
  CopyFrom call = {};
  CUstream stream = nullptr;
  CUresult status = CUDA_SUCCESS;
  std::uint64_t queued = 0;  // bytes
};

class Bulk {
 public:
  Bulk() = default;
  ~Bulk();
  Bulk(const Bulk&) = delete;
  Bulk& operator=(const Bulk&) = delete;

  // From any thread.
  void add(std::unique_ptr<Connection> connection);
  // From the session's thread, before anything is copied. DriverError.
  // `spin`: so long it looks for the pieces of a copy, and senders for the GPU, before they sleep.
  void serve(const Gpu& gpu, std::chrono::microseconds spin);

  // Returns once all pieces are queued on the stream; with a status that is not success they are
  // only taken off the connections. `tend` is called meanwhile, now and then and whenever nothing
  // has come. ConnectionLost if the connections broke, and ProtocolError.
  using Tend = std::function<void()>;
  CUresult to_device(const CopyToBulk& call, CUstream stream, CUresult status, const Tend& tend);
  // Queues the pieces that there is room for; true once that is all of them, or the client is told
  // why not. ConnectionLost if the bulk connections broke.
  bool from_device(BulkCopy& copy);
  // Blocks until there may be more room, for so long at most.
  void wait_for_room(std::chrono::microseconds longest);

 private:
  using Pieces = std::vector<std::shared_ptr<Incoming>>;
  void break_off();
  void take_new(Pieces& pieces, const CopyToBulk& call, std::uint64_t& missing);
  CUresult queue(Incoming& incoming, std::uint32_t bytes, Address to, CUstream stream) const;
  void release(Pieces& pieces, const std::shared_ptr<const GpuMark>& read);
  void wait_for_more(std::uint64_t seen, const Tend& tend);

  BulkState state_;
  std::vector<std::unique_ptr<BulkConnection>> connections_;
};

}  // namespace gpucast::remote::server
