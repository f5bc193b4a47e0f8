#include "server/memory.h"

#include <algorithm>
#include <limits>

#include "server/ranges.h"

namespace gpucast::remote::server {
namespace {

// More than programs have, and little enough for this process.
constexpr std::size_t most_allocations = std::size_t{1} << 22;

}  // namespace

Memory::Memory(const Driver& driver, int device, std::uint64_t most_memory,
               const std::optional<HostKey>& key)
    : driver_(driver), ordinal_(device), most_memory_(most_memory), peers_(driver, key) {}

bool Memory::holds(Address address, std::uint64_t bytes) const {
  return holder(allocations_, address, bytes) != allocations_.end() || peers_.holds(address, bytes);
}

void Memory::reset() {
  peers_.detach_all();
  for (const auto& [address, allocation] : allocations_)
    free(address, allocation);
  allocations_.clear();
  used_memory_ = 0;
}

CUresult Memory::run(const MemAlloc& call, Allocated& result) {
  if (call.bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  if (allocations_.size() >= most_allocations) return CUDA_ERROR_OUT_OF_MEMORY;
  if (most_memory_ != 0 && call.bytes > most_memory_ - std::min(most_memory_, used_memory_)) {
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  Allocation allocation{.bytes = call.bytes, .placed = call.at != 0};
  CUdeviceptr address = call.at;
  const CUresult status =
      call.at != 0 ? allocate_at(call, allocation) : driver_.cuMemAlloc(&address, call.bytes);
  if (status != CUDA_SUCCESS) return status;
  allocations_[address] = allocation;
  used_memory_ += allocation.bytes;
  result.address = address;
  return CUDA_SUCCESS;
}

CUresult Memory::allocate_at(const MemAlloc& call, Allocation& allocation) const {
  if (!driver_.places_memory()) return CUDA_ERROR_NOT_SUPPORTED;
  CUmemAllocationProp kind{};
  kind.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  kind.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = ordinal_};
  std::size_t unit = 0;
  CUresult status =
      driver_.cuMemGetAllocationGranularity(&unit, &kind, CU_MEM_ALLOC_GRANULARITY_MINIMUM);
  if (status != CUDA_SUCCESS) return status;
  if (call.bytes > std::numeric_limits<std::uint64_t>::max() - unit)
    return CUDA_ERROR_OUT_OF_MEMORY;
  const std::size_t bytes = (call.bytes + unit - 1) / unit * unit;
  CUdeviceptr got = 0;
  status = driver_.cuMemAddressReserve(&got, bytes, 0, call.at, 0);
  if (status != CUDA_SUCCESS) return status;
  if (got != call.at) {
    driver_.cuMemAddressFree(got, bytes);
    return CUDA_ERROR_NOT_SUPPORTED;
  }
  status = driver_.cuMemCreate(&allocation.handle, bytes, &kind, 0);
  if (status == CUDA_SUCCESS) {
    status = driver_.cuMemMap(got, bytes, 0, allocation.handle, 0);
    if (status == CUDA_SUCCESS) {
      const CUmemAccessDesc access{.location = kind.location,
                                   .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
      status = driver_.cuMemSetAccess(got, bytes, &access, 1);
      if (status != CUDA_SUCCESS) driver_.cuMemUnmap(got, bytes);
    }
    if (status != CUDA_SUCCESS) driver_.cuMemRelease(allocation.handle);
  }
  if (status != CUDA_SUCCESS) driver_.cuMemAddressFree(got, bytes);
  allocation.bytes = bytes;
  return status;
}

CUresult Memory::run(const MemFree& call, Nothing& /*result*/) {
  const auto found = allocations_.find(call.address);
  if (found == allocations_.end()) return CUDA_ERROR_INVALID_VALUE;
  const Allocation allocation = found->second;
  allocations_.erase(found);
  used_memory_ -= allocation.bytes;
  return free(call.address, allocation);
}

CUresult Memory::free(Address address, const Allocation& allocation) const {
  if (!allocation.placed) return driver_.cuMemFree(address);
  // As cuMemFree does, which this kind of memory has not.
  CUresult status = driver_.cuCtxSynchronize();
  for (const CUresult next :
       {driver_.cuMemUnmap(address, allocation.bytes), driver_.cuMemRelease(allocation.handle),
        driver_.cuMemAddressFree(address, allocation.bytes)}) {
    if (status == CUDA_SUCCESS) status = next;
  }
  return status;
}

CUresult Memory::run(const MemInfo& /*call*/, MemAmounts& result) const {
  std::size_t free = 0;
  std::size_t total = 0;
  const CUresult status = driver_.cuMemGetInfo(&free, &total);
  result = {.free = free, .total = total};
  if (most_memory_ != 0) {
    result.total = std::min<std::uint64_t>(total, most_memory_);
    result.free =
        std::min<std::uint64_t>(free, most_memory_ - std::min(most_memory_, used_memory_));
  }
  return status;
}

// ---- memory that several servers of one host use ----

// cuIpc* knows no memory that was placed: cuMemCreate has handles of another kind.
CUresult Memory::run(const Share& call, Shared& result) const {
  const auto found = holder(allocations_, call.address, 1);
  if (found == allocations_.end() || found->second.placed) return CUDA_ERROR_INVALID_VALUE;
  return peers_.share(found->first, found->second.bytes, result);
}

CUresult Memory::run(const Attach& call, Attached& result) { return peers_.attach(call, result); }

CUresult Memory::run(const Detach& call, Nothing& /*result*/) { return peers_.detach(call.id); }

}  // namespace gpucast::remote::server
