// What one client has on the GPU, and the calls that are done at once. A status is the driver's.
#pragma once

#include <map>
#include <memory>
#include <unordered_map>
#include <vector>

#include "protocol/calls.h"
#include "server/driver.h"
#include "server/peer_memory.h"

namespace gpucast::remote {

// An event that lives as long as someone waits for it.
class Event {
 public:
  Event(const Driver& driver, unsigned flags) : driver_(&driver) {
    if (const CUresult status = driver.cuEventCreate(&event_, flags); status != CUDA_SUCCESS)
      throw DriverError(status, "cuEventCreate");
  }
  ~Event() { driver_->cuEventDestroy(event_); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  CUevent get() const { return event_; }

 private:
  const Driver* driver_;
  CUevent event_ = nullptr;
};

class Gpu {
 public:
  // Initializes the driver in this process. DriverError or std::runtime_error with one line.
  // Without a key it shares no memory with others.
  Gpu(const std::string& library, int device, std::uint64_t most_memory,
      const std::optional<HostKey>& key);
  ~Gpu() = default;  // the process ends with the client; that frees all
  Gpu(const Gpu&) = delete;
  Gpu& operator=(const Gpu&) = delete;

  const Driver& driver() const { return driver_; }
  DeviceInfo describe() const;
  // For each thread that calls the driver.
  void use_in_this_thread() const;

  // The stream, behind all that the program takes for done (fence). DriverError if there is none.
  CUstream stream(Id id);
  // What streams are given from now on is done after what this one holds.
  void fence(Id stream);
  // What the last one waits for; nothing where there is none.
  std::shared_ptr<Event> last_fence() const { return fence_; }
  std::shared_ptr<Event> event(Id id) const;
  // Events behind all that every stream holds.
  std::vector<std::shared_ptr<Event>> record_all();
  std::shared_ptr<Event> record(CUstream stream);
  void give_back(std::shared_ptr<Event> event);

  CUresult run(const Reset&, Nothing&);
  CUresult run(const MemAlloc&, Allocated&);
  CUresult run(const MemFree&, Nothing&);
  CUresult run(const MemInfo&, MemAmounts&) const;
  CUresult run(const Memset&, Nothing&);
  CUresult run(const CopyWithin&, Nothing&);
  CUresult run(const Share&, Shared&) const;
  CUresult run(const Attach&, Attached&);
  // Once all streams are done.
  CUresult run(const Detach&, Nothing&);
  CUresult run(const StreamCreate&, Nothing&);
  CUresult run(const StreamDestroy&, Nothing&);
  CUresult run(const StreamQuery&, Nothing&);
  CUresult run(const StreamWaitEvent&, Nothing&);
  CUresult run(const EventCreate&, Nothing&);
  CUresult run(const EventDestroy&, Nothing&);
  CUresult run(const EventRecord&, Nothing&);
  CUresult run(const EventQuery&, Nothing&) const;
  CUresult run(const EventElapsed&, Elapsed&) const;
  CUresult run(const ModulePiece&, Bytes piece);
  CUresult run(const ModuleLoad&, Nothing&);
  CUresult run(const ModuleKernels&, Kernels&);
  CUresult run(const ModuleGlobal&, Global&);
  CUresult run(const ModuleUnload&, Nothing&);
  CUresult run(const Launch&, Nothing&);
  CUresult run(const FunctionAttributes&, Values&);
  CUresult run(const FunctionSetAttribute&, Nothing&);
  CUresult run(const Occupancy&, Blocks&);
  Elapsed elapsed(const std::vector<EventPair>& pairs) const;

 private:
  struct Stream {
    CUstream handle = nullptr;
    std::uint64_t fences_seen = 0;
  };
  struct Allocation {
    std::uint64_t bytes = 0;
    bool placed = false;
    CUmemGenericAllocationHandle handle = 0;
  };
  struct Module {
    std::vector<std::byte> image = {};
    CUlibrary library = nullptr;
  };
  struct KernelOfModule {
    Id module = 0;
    CUkernel kernel = nullptr;
    CUfunction function = nullptr;  // once it was used
    std::vector<Parameter> parameters = {};
    std::size_t argument_bytes = 0;
  };

  void initialize(int device);
  CUresult allocate_at(const MemAlloc& call, Allocation& allocation) const;
  CUresult copy_rows(const CopyWithin& call, CUstream on) const;
  CUresult free(Address address, const Allocation& allocation) const;
  // DriverError if there is none.
  KernelOfModule& kernel(Id id);
  std::vector<Parameter> parameters_of(CUkernel kernel, Status& status) const;

  Driver driver_;
  int ordinal_;
  CUdevice device_ = 0;
  CUcontext context_ = nullptr;
  std::uint64_t most_memory_;  // bytes; 0: no limit
  std::uint64_t used_memory_ = 0;
  std::map<Address, Allocation> allocations_;
  PeerMemory peers_;
  std::unordered_map<Id, Stream> streams_;
  std::unordered_map<Id, std::shared_ptr<Event>> events_;
  std::vector<std::shared_ptr<Event>> idle_events_;
  std::unordered_map<Id, Module> modules_;
  std::unordered_map<Id, KernelOfModule> kernels_;
  std::shared_ptr<Event> fence_;
  Id fenced_stream_ = 0;
  std::uint64_t fences_ = 0;
};

}  // namespace gpucast::remote
