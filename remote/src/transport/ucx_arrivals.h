// What has come over UCX and was not read yet. Under the lock of the worker that brings it, but for
// the content of what is first: that is its reader's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "gpucast/remote/layer.h"
#include "transport/ucx_library.h"

namespace gpucast::remote {

// What may be on its way and unread, as bytes; each message counts for some more, so that many
// short ones take no more of this process than few long ones.
inline constexpr std::uint64_t ucx_window = most_under_way;
constexpr std::uint64_t ucx_cost(std::size_t bytes) { return bytes + 512; }

class UcxArrivals {
 public:
  explicit UcxArrivals(ucp_worker_h worker) : worker_(worker) {}
  ~UcxArrivals();
  UcxArrivals(const UcxArrivals&) = delete;
  UcxArrivals& operator=(const UcxArrivals&) = delete;

  // As UCX brings it (ucp_am_recv_callback_t), and what it wants to hear of it. `begin`: what all
  // before it cost. ConnectionLost where it is more than the window allows, comes twice,
  // or is only announced (rendezvous).
  ucs_status_t add(std::uint64_t begin, void* data, std::size_t bytes, std::uint64_t attributes);

  // What is next, as far as it lies in one place; empty while it is not there.
  std::span<const std::byte> front() const;
  void pop(std::size_t bytes);
  // What all that was read cost.
  std::uint64_t read() const { return read_; }

 private:
  struct Arrival {
    std::span<const std::byte> data;
    std::size_t popped = 0;
    std::vector<std::byte> copy = {};
    void* held = nullptr;  // UCX's memory, where that is not copied
  };

  ucp_worker_h worker_;
  std::uint64_t read_ = 0;
  std::map<std::uint64_t, Arrival> arrivals_;  // by where they begin
};

}  // namespace gpucast::remote
