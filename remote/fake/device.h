// A device on host memory.
#pragma once

#include <cuda.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>

#include "fake/queues.h"
#include "fake/settings.h"
#include "gpucast/support/descriptor.h"

namespace gpucast::fake {

using Clock = std::chrono::steady_clock;

class Device {
 public:
  explicit Device(const Settings& settings);
  ~Device();

  // ---- memory ----
  CUresult allocate(CUdeviceptr& address, std::size_t bytes);
  CUresult free(CUdeviceptr address);
  // Does not wait for queued work.
  CUresult release(CUdeviceptr address);
  // Reserves at `at` if that is not 0 and free, otherwise elsewhere.
  CUresult reserve(CUdeviceptr& address, std::size_t bytes, CUdeviceptr at);
  // Takes over memory that somebody else has allocated.
  void adopt(CUdeviceptr address, std::size_t bytes);
  // Returns the range that the driver has mapped for the allocation that holds the address.
  CUresult range(CUdeviceptr& begin, std::size_t& bytes, CUdeviceptr address) const;
  // Makes a handle with which another process of the same user opens the memory.
  CUresult share(CUipcMemHandle& handle, CUdeviceptr address);
  CUresult open(CUdeviceptr& address, const CUipcMemHandle& handle);
  CUresult close(CUdeviceptr address);
  bool holds(CUdeviceptr address, std::size_t bytes) const;
  std::size_t free_bytes() const;
  std::size_t total_bytes() const { return settings_.memory; }

  // ---- work ----
  Queues& queues() { return queues_; }

 private:
  struct Memory {
    std::size_t bytes = 0;
    std::size_t lead = 0;            // bytes mapped before it
    support::Descriptor file = {};   // an empty one: no other process can open it
    unsigned long long file_id = 0;  // of memory that another process has shared
    bool shared = false;
  };
  using Memories = std::map<CUdeviceptr, Memory>;

  CUresult map(CUdeviceptr& address, Memory memory, CUdeviceptr at);
  static void unmap(CUdeviceptr address, const Memory& memory);

  const Settings& settings_;
  mutable std::mutex mutex_;
  Memories allocations_;
  Memories adopted_;
  Memories opened_;
  std::size_t used_ = 0;
  std::uintptr_t next_ = 0;
  Queues queues_;  // whose work uses the memory
};

}  // namespace gpucast::fake
