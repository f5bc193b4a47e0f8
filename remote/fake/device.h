// A device on host memory: one thread that does what all streams hold, in the order in which it was
// queued. That is an order that every program must allow for.
#pragma once

#include <cuda.h>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <thread>

#include "fake/settings.h"
#include "gpucast/records/descriptor.h"

namespace gpucast::fake {

using Clock = std::chrono::steady_clock;

class Device {
 public:
  explicit Device(const Settings& settings);
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  // ---- memory ----
  CUresult allocate(CUdeviceptr& address, std::size_t bytes);
  CUresult free(CUdeviceptr address);
  // At `at` if that is not 0 and free, else elsewhere.
  CUresult reserve(CUdeviceptr& address, std::size_t bytes, CUdeviceptr at);
  // What somebody else has allocated.
  void adopt(CUdeviceptr address, std::size_t bytes);
  // What the driver has mapped for the allocation that holds the address.
  CUresult range(CUdeviceptr& begin, std::size_t& bytes, CUdeviceptr address) const;
  // For another process of the same user, which opens it as its own.
  CUresult share(CUipcMemHandle& handle, CUdeviceptr address);
  CUresult open(CUdeviceptr& address, const CUipcMemHandle& handle);
  CUresult close(CUdeviceptr address);
  bool holds(CUdeviceptr address, std::size_t bytes) const;
  std::size_t free_bytes() const;
  std::size_t total_bytes() const { return settings_.memory; }

  // ---- work ----
  // Number of the operation, the first is 1. `begin` and `end` of each are known once it is done.
  std::uint64_t queue(std::function<void()> operation);
  bool done(std::uint64_t operation) const;
  void wait(std::uint64_t operation);
  void wait_for_all();
  // Of the first operation that failed; the device is lost then.
  CUresult failure() const;

 private:
  struct Memory {
    std::size_t bytes = 0;
    std::size_t lead = 0;            // bytes mapped before it
    records::Descriptor file = {};   // none: no other process can open it
    unsigned long long file_id = 0;  // of memory that another process has shared
    bool shared = false;
  };
  using Memories = std::map<CUdeviceptr, Memory>;

  CUresult map(CUdeviceptr& address, Memory memory, CUdeviceptr at);
  static void unmap(CUdeviceptr address, const Memory& memory);
  static Memories::const_iterator find(const Memories& memories, CUdeviceptr address,
                                       std::size_t bytes);
  void run();

  const Settings& settings_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  Memories allocations_;
  Memories adopted_;
  Memories opened_;
  std::size_t used_ = 0;
  std::uintptr_t next_ = 0;
  std::deque<std::function<void()>> queue_;
  std::uint64_t queued_ = 0;
  std::uint64_t done_ = 0;
  CUresult failure_ = CUDA_SUCCESS;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace gpucast::fake
