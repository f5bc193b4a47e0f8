// Large copies, in pieces over the bulk connections through rings of pinned memory, so that the
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
  std::atomic<std::uint32_t> come{0};  // bytes in the ring
  std::uint32_t queued = 0;            // bytes that are queued on the GPU; used by the session
  // Both under the lock: whether the session has finished with the piece, and the mark that the GPU
  // sets after reading all of it; nothing if it reads none.
  bool taken = false;
  std::shared_ptr<const GpuMark> read;
};

// State that the connections and the session share.
struct BulkState {
  std::mutex mutex;
  std::condition_variable changed;  // wakes the session
  std::condition_variable taken;    // incoming pieces were taken
  std::atomic<bool> broken{false};
  const Gpu* gpu = nullptr;
  std::unique_ptr<GpuMarks> marks;
  std::chrono::microseconds spin{0};
  // Pieces that have begun to arrive, by transfer, and a count of arrivals.
  std::unordered_map<Id, std::vector<std::shared_ptr<Incoming>>> incoming;
  std::atomic<std::uint64_t> arrivals{0};
};

// A thread per direction, and their pinned memory.
class BulkConnection {
 public:
  // `broke` is called from one of its threads if the connection breaks.
  BulkConnection(BulkState& state, std::unique_ptr<Connection> connection,
                 std::function<void()> broke);
  ~BulkConnection();

  // To be called under the lock.
  void wake() { wanted_.notify_all(); }
  void shut_down() {
    connection_->shut_down();
    wake();
  }
  // Queues a piece without data that reports a failure; returns false, and does nothing, while too
  // much is unsent.
  bool queue_failure(const Piece& piece);

  // Called by the session without the lock. Queues a copy of device memory and its sending; returns
  // false, and does nothing, while there is no room. Throws DriverError.
  bool queue(const Piece& piece, Address from, CUstream stream);

 private:
  // Pinned memory, allocated when it is first needed and never freed: the process ends with the
  // client.
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
  std::chrono::microseconds between_;  // how long it polls for the next copy
  // The receiving thread's ring.
  Ring incoming_;
  RingSpace incoming_space_{piece_ring_bytes};
  std::deque<std::shared_ptr<Incoming>> pieces_;  // in that ring
  // The sending thread's ring; under the lock, except for the memory itself.
  Ring outgoing_;
  RingSpace outgoing_space_{piece_ring_bytes};
  std::deque<Send> sends_;
  std::atomic<std::size_t> waiting_{0};  // number of outgoing pieces
  // Either thread wakes it: the GPU has finished, or there is something to send.
  std::condition_variable wanted_;
  std::thread receiver_;
  std::thread sender_;
};

// A copy to the client.
struct BulkCopy {
  CopyFrom call = {};
  CUstream stream = nullptr;
  CUresult status = CUDA_SUCCESS;
  std::uint64_t queued = 0;  // bytes
};

class Bulk {
 public:
  ~Bulk();

  // May be called from any thread.
  void add(std::unique_ptr<Connection> connection);
  // Called by the session's thread before any copy. `spin`: how long it polls for the pieces of a
  // copy, and senders for the GPU, before they sleep. Throws DriverError.
  void serve(const Gpu& gpu, std::chrono::microseconds spin);

  // Returns once all pieces are queued on the stream; with a status other than success they are
  // received and dropped. `tend` is called from time to time and whenever nothing has arrived.
  // Throws ConnectionLost if the connections broke, and ProtocolError.
  using Tend = std::function<void()>;
  CUresult to_device(const CopyToBulk& call, CUstream stream, CUresult status, const Tend& tend);
  // Queues the pieces that there is room for; returns true once all are queued, or the client was
  // told of a failure. Throws ConnectionLost if the bulk connections broke.
  bool from_device(BulkCopy& copy);
  // Waits until there may be more room, at most for `longest`.
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
