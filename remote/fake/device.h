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
  void run();

  const Settings& settings_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::map<CUdeviceptr, std::size_t> allocations_;
  std::map<CUdeviceptr, std::size_t> adopted_;
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
