// Large copies: pieces over the bulk connections, through rings of pinned memory, so that the
// network and the GPU's copy engine work at the same time.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "protocol/calls.h"
#include "server/gpu.h"
#include "transport/connection.h"

namespace gpucast::remote::server {

// To the client.
struct BulkCopy {
  CopyFrom call = {};
  CUstream stream = nullptr;
  CUresult status = CUDA_SUCCESS;
  std::uint64_t queued = 0;  // bytes
};

class Bulk {
 public:
  Bulk();
  ~Bulk();
  Bulk(const Bulk&) = delete;
  Bulk& operator=(const Bulk&) = delete;

  // From any thread.
  void add(std::unique_ptr<Connection> connection);
  // From the session's thread, before anything is copied.
  // `spin`: so long it looks for the pieces of a copy before it sleeps.
  void serve(const Gpu& gpu, std::chrono::microseconds spin);

  // Returns once all pieces are queued on the stream; with a status that is not success they are
  // only taken off the connections. `tend` is called now and then meanwhile. ConnectionLost if the
  // connections broke.
  using Tend = std::function<void()>;
  CUresult to_device(const CopyToBulk& call, CUstream stream, CUresult status, const Tend& tend);
  // Queues the pieces that there is room for; true once that is all of them, or the client is told
  // why not. ConnectionLost if the bulk connections broke.
  bool from_device(BulkCopy& copy);
  // Blocks until there may be more room, for so long at most.
  void wait_for_room(std::chrono::microseconds longest);

 private:
  class BulkConnection;
  struct Incoming {
    Address to = 0;
    CUstream stream = nullptr;
    std::uint64_t bytes = 0;
    std::uint64_t left = 0;
    CUresult status = CUDA_SUCCESS;
  };

  void break_off();

  std::mutex mutex_;
  std::condition_variable changed_;    // for the session
  std::condition_variable announced_;  // incoming_ has one more
  const Gpu* gpu_ = nullptr;
  std::chrono::microseconds spin_{0};
  std::atomic<bool> broken_{false};
  std::unordered_map<Id, Incoming> incoming_;  // those the session has come to
  std::atomic<std::uint64_t> arrived_{0};      // whole ones of them
  std::vector<std::unique_ptr<BulkConnection>> connections_;
};

}  // namespace gpucast::remote::server
