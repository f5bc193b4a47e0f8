// Large copies: pieces over the bulk connections, through rings of pinned memory, so that the
// network and the GPU's copy engine work at the same time.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <vector>

#include "protocol/calls.h"
#include "server/bulk_connection.h"
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
