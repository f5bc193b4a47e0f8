#include "server/memory.h"

#include <algorithm>
#include <limits>

#include "protocol/ranges.h"

namespace gpucast::remote::server {
namespace {

// More than programs have, and little enough for this process.
constexpr std::size_t most_allocations = std::size_t{1} << 22;

// What an allocation takes of the GPU: drivers give out small ones in units of 512 bytes, and
// others in whole pages of 2 MiB.
std::uint64_t whole_units(std::uint64_t bytes) {
  constexpr std::uint64_t page = std::uint64_t{2} << 20;
  constexpr std::uint64_t unit = 512;
  const std::uint64_t granularity = bytes < page / 2 ? unit : page;
  const std::uint64_t units = bytes / granularity + (bytes % granularity == 0 ? 0 : 1);
  return units * granularity;
}

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
  ++released_;
}

void Memory::require_room(std::uint64_t bytes) const {
  if (bytes == 0) throw DriverError(CUDA_ERROR_INVALID_VALUE);
  const bool within =
      most_memory_ == 0 || bytes <= most_memory_ - std::min(most_memory_, used_memory_);
  if (!within || allocations_.size() >= most_allocations)
    throw DriverError(CUDA_ERROR_OUT_OF_MEMORY);
}

void Memory::hold_pooled(Address address, std::uint64_t bytes) {
  const Allocation allocation{.bytes = bytes, .taken = whole_units(bytes), .pooled = true};
  allocations_[address] = allocation;
  used_memory_ += allocation.taken;
}

void Memory::release_pooled(Address address) {
  const auto found = allocations_.find(address);
  if (found == allocations_.end() || !found->second.pooled)
    throw DriverError(CUDA_ERROR_INVALID_VALUE);
  used_memory_ -= found->second.taken;
  allocations_.erase(found);
  ++released_;
}

Allocated Memory::run(const MemAlloc& call) {
  require_room(call.bytes);
  Allocation allocation{
      .bytes = call.bytes, .taken = whole_units(call.bytes), .placed = call.at != 0};
  CUdeviceptr address = call.at;
  check(call.at != 0 ? allocate_at(call, allocation) : driver_.cuMemAlloc(&address, call.bytes));
  allocations_[address] = allocation;
  used_memory_ += allocation.taken;
  return {.address = address};
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

void Memory::run(const MemFree& call) {
  const auto removed = allocations_.extract(call.address);
  if (!removed) throw DriverError(CUDA_ERROR_INVALID_VALUE);
  used_memory_ -= removed.mapped().taken;
  ++released_;
  check(free(call.address, removed.mapped()));
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

MemAmounts Memory::run(const MemInfo& /*call*/) const {
  std::size_t free = 0;
  std::size_t total = 0;
  check(driver_.cuMemGetInfo(&free, &total));
  if (most_memory_ == 0) return {.free = free, .total = total};
  return {
      .free = std::min<std::uint64_t>(free, most_memory_ - std::min(most_memory_, used_memory_)),
      .total = std::min<std::uint64_t>(total, most_memory_)};
}

// ---- memory that several servers of one host use ----

// cuIpc* knows no memory that was placed or came from a pool: it has handles of other kinds.
Shared Memory::run(const Share& call) const {
  const auto found = holder(allocations_, call.address, 1);
  if (found == allocations_.end() || found->second.placed || found->second.pooled)
    throw DriverError(CUDA_ERROR_INVALID_VALUE);
  return peers_.share(found->first, found->second.bytes);
}

}  // namespace gpucast::remote::server
