#include "server/memory.h"

#include <limits>

#include "protocol/ranges.h"

namespace gpucast::remote::server {
namespace {

// More than programs use, and few enough for this process.
constexpr std::size_t most_allocations = std::size_t{1} << 22;
constexpr std::size_t most_pools = 1024;

// Returns the GPU memory that an allocation occupies: drivers allocate small ones in units of 512
// bytes, and others in whole pages of 2 MiB.
std::uint64_t whole_units(std::uint64_t bytes) {
  constexpr std::uint64_t page = std::uint64_t{2} << 20;
  constexpr std::uint64_t unit = 512;
  const std::uint64_t granularity = bytes < page / 2 ? unit : page;
  const std::uint64_t units = bytes / granularity + (bytes % granularity == 0 ? 0 : 1);
  return units * granularity;
}

// Whether the attribute is an int rather than 64 bits: the flags come first in the enumeration.
bool is_pool_flag(CUmemPool_attribute which) { return which < CU_MEMPOOL_ATTR_RELEASE_THRESHOLD; }

CUmemPool_attribute attribute_of(std::int32_t asked) {
  return enumerator(asked, CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES,
                    CU_MEMPOOL_ATTR_USED_MEM_HIGH);
}

}  // namespace

Memory::Memory(const Driver& driver, Streams& streams, int device, std::uint64_t most_memory,
               const std::optional<HostKey>& key)
    : driver_(driver),
      streams_(streams),
      ordinal_(device),
      most_memory_(most_memory),
      peers_(driver, key) {}

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
  for (const auto& [id, pool] : pools_)
    driver_.cuMemPoolDestroy(pool);
  pools_.clear();
}

void Memory::require_room(std::uint64_t bytes) const {
  if (bytes == 0) throw DriverError(CUDA_ERROR_INVALID_VALUE);
  const bool within =
      most_memory_ == 0 || bytes <= most_memory_ - std::min(most_memory_, used_memory_);
  if (!within || allocations_.size() >= most_allocations)
    throw DriverError(CUDA_ERROR_OUT_OF_MEMORY);
}

Allocated Memory::hold(Address address, const Allocation& allocation) {
  used_memory_ += allocation.taken;
  allocations_[address] = allocation;
  return {.address = address};
}

Memory::Allocation Memory::release(Address address, bool pooled) {
  const auto held = allocations_.find(address);
  if (held == allocations_.end() || (pooled && !held->second.pooled))
    throw DriverError(CUDA_ERROR_INVALID_VALUE);
  const Allocation result = held->second;
  allocations_.erase(held);
  used_memory_ -= result.taken;
  ++released_;
  return result;
}

Allocated Memory::run(const MemAlloc& call) {
  require_room(call.bytes);
  Allocation allocation{
      .bytes = call.bytes, .taken = whole_units(call.bytes), .placed = call.at != 0};
  CUdeviceptr address = call.at;
  check(call.at != 0 ? allocate_at(call, allocation) : driver_.cuMemAlloc(&address, call.bytes));
  return hold(address, allocation);
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
  const Allocation released = release(call.address, false);
  check(free(call.address, released));
}

CUresult Memory::free(Address address, const Allocation& allocation) const {
  if (!allocation.placed) return driver_.cuMemFree(address);
  // cuMemFree would do this, but is not available for this kind of memory.
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

// ---- memory that several servers of one host share ----

// cuIpc* does not support memory at a chosen address or from a pool: it has other handles.
Shared Memory::run(const Share& call) const {
  const auto held = holder(allocations_, call.address, 1);
  if (held == allocations_.end() || held->second.placed || held->second.pooled)
    throw DriverError(CUDA_ERROR_INVALID_VALUE);
  return peers_.share(held->first, held->second.bytes);
}

// ---- memory pools ----

CUmemoryPool Memory::pool(Id id) {
  if (id == usual_pool) {
    if (usual_pool_ == nullptr) {
      CUdevice device = 0;
      check(driver_.cuDeviceGet(&device, ordinal_));
      check(driver_.cuDeviceGetDefaultMemPool(&usual_pool_, device));
    }
    return usual_pool_;
  }
  const auto known = pools_.find(id);
  if (known == pools_.end()) throw DriverError(CUDA_ERROR_INVALID_VALUE);
  return known->second;
}

Allocated Memory::run(const PoolAlloc& call) {
  require_room(call.bytes);
  CUdeviceptr address = 0;
  check(driver_.cuMemAllocFromPoolAsync(&address, call.bytes, pool(call.pool),
                                        streams_.stream(call.stream)));
  return hold(address, {.bytes = call.bytes, .taken = whole_units(call.bytes), .pooled = true});
}

// Later calls of the client cannot reach it, though the GPU may use it for a while.
void Memory::run(const PoolFree& call) {
  auto* const stream = streams_.stream(call.stream);
  release(call.address, true);
  check(driver_.cuMemFreeAsync(call.address, stream));
}

void Memory::run(const PoolCreate& call) {
  if (call.pool < first_id || pools_.contains(call.pool))
    throw DriverError(CUDA_ERROR_INVALID_VALUE);
  if (pools_.size() >= most_pools) throw DriverError(CUDA_ERROR_OUT_OF_MEMORY);
  CUmemPoolProps properties{};
  properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.handleTypes = CU_MEM_HANDLE_TYPE_NONE;
  properties.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = ordinal_};
  properties.maxSize = call.most;
  CUmemoryPool made = nullptr;
  check(driver_.cuMemPoolCreate(&made, &properties));
  pools_[call.pool] = made;
}

void Memory::run(const PoolDestroy& call) {
  if (call.pool == usual_pool) throw DriverError(CUDA_ERROR_INVALID_VALUE);
  auto* const removed = pool(call.pool);
  pools_.erase(call.pool);
  check(driver_.cuMemPoolDestroy(removed));
}

void Memory::run(const PoolTrim& call) {
  check(driver_.cuMemPoolTrimTo(pool(call.pool), call.bytes));
}

void Memory::run(const PoolSet& call) {
  const CUmemPool_attribute which = attribute_of(call.attribute);
  auto value = static_cast<cuuint64_t>(call.value);
  int flag = call.value != 0 ? 1 : 0;
  check(driver_.cuMemPoolSetAttribute(pool(call.pool), which,
                                      is_pool_flag(which) ? static_cast<void*>(&flag) : &value));
}

PoolValue Memory::run(const PoolGet& call) {
  const CUmemPool_attribute which = attribute_of(call.attribute);
  cuuint64_t value = 0;
  int flag = 0;
  check(driver_.cuMemPoolGetAttribute(pool(call.pool), which,
                                      is_pool_flag(which) ? static_cast<void*>(&flag) : &value));
  return {.value = is_pool_flag(which) ? static_cast<std::uint64_t>(flag != 0) : value};
}

}  // namespace gpucast::remote::server
