// Engines, which provide devices.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <new>
#include <utility>

#include "engine/device.h"
#include "gpucast/devices/backend.h"
#include "gpucast/support/errors.h"

namespace gpucast::mdapp {

// Host memory that devices copy from and to.
using schema::Memory;

// The kinds of memory that engines allocate.
inline constexpr std::array memories{Memory::pageable, Memory::pinned};

// A block of host memory, freed with its last owner.
using HostMemory = std::shared_ptr<void>;

// Memory from malloc, aligned to pages.
inline HostMemory pageable_memory(std::size_t bytes) {
  constexpr std::align_val_t alignment{4096};
  return {::operator new(bytes > 0 ? bytes : 1, alignment),
          [](void* data) { ::operator delete(data, alignment); }};
}

// `size` zeroed elements in such a block (touched, so that timed code meets no new page).
template <class T>
class HostArray {
 public:
  HostArray() = default;
  HostArray(HostMemory memory, std::size_t size)
      : memory_(std::move(memory)), span_(static_cast<T*>(memory_.get()), size) {
    for (T& element : span_)
      element = T{};
  }
  std::span<T> span() const { return span_; }

 private:
  HostMemory memory_;
  std::span<T> span_;
};

using support::DeviceError;

// For the machine record; unknown fields stay empty.
using DeviceInfo = records::Gpu;

// Exchange among the devices of one process; operations are queued on all of them.
class Exchange : public support::Interface {
 public:
  // Sends every device's slice of the positions to all the others.
  virtual void positions() = 0;
  // Adds the sums of all devices (Device::sum_up), and gives the result to all of them.
  virtual void add_up() = 0;
};

class Engine : public devices::Backend {
 public:
  // Bytes that a workload needs on a device, and bytes free there.
  virtual std::int64_t bytes_needed(const Workload& workload) const = 0;
  virtual std::int64_t bytes_free(int device) const = 0;

  // Threads per block that the kernel uses by default.
  virtual int default_block(KernelName kernel) const = 0;
  // Throws std::invalid_argument with one line if this engine does not support the choice (a block
  // size that is no multiple of a warp, a j split on the host, ...).
  virtual void check(const KernelChoice& choice) const = 0;

  virtual HostMemory allocate(std::size_t bytes, Memory memory) = 0;
  template <class T>
  HostArray<T> array(std::size_t size, Memory memory) {
    return {allocate(size * sizeof(T), memory), size};
  }

  virtual std::unique_ptr<Device> open(int device, const Workload& workload) = 0;
  // Connects devices that this engine opened, one of each slice in order. Throws std::runtime_error
  // if that is impossible (no NCCL).
  virtual std::unique_ptr<Exchange> connect(std::span<Device* const> devices) = 0;
  // Runs `queue`, which only queues operations on `devices`, and records them (a CUDA graph)
  // instead of executing them: the returned function queues them again as a whole. Throws
  // std::invalid_argument if the engine cannot.
  virtual std::function<void()> record(std::span<Device* const> devices,
                                       const std::function<void()>& queue) = 0;
};

// Worker threads as devices; `count` of them, 0: one per core.
std::unique_ptr<Engine> host_engine(int count = 0);

// The visible CUDA devices if the program was built with CUDA and there are any; otherwise nullptr
// and a reason.
std::unique_ptr<Engine> cuda_engine(std::string& why_not);

}  // namespace gpucast::mdapp
