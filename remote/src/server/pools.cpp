#include "server/pools.h"

#include "server/driver_parameters.h"

namespace gpucast::remote::server {
namespace {

// More than programs have, and little enough for this process.
constexpr std::size_t most_pools = 1024;

// Whether the driver takes or gives an int, and not 64 bits.
bool is_pool_flag(CUmemPool_attribute which) {
  return which == CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES ||
         which == CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC ||
         which == CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES;
}

CUmemPool_attribute attribute_of(std::int32_t asked) {
  return enumerator(asked, CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES,
                    CU_MEMPOOL_ATTR_USED_MEM_HIGH);
}

}  // namespace

CUmemoryPool Pools::pool(Id id) {
  if (id == usual_pool) {
    if (usual_ == nullptr) {
      CUdevice device = 0;
      check(driver_.cuDeviceGet(&device, ordinal_));
      check(driver_.cuDeviceGetDefaultMemPool(&usual_, device));
    }
    return usual_;
  }
  const auto found = pools_.find(id);
  if (found == pools_.end()) throw DriverError(CUDA_ERROR_INVALID_VALUE);
  return found->second;
}

Allocated Pools::run(const PoolAlloc& call) {
  memory_.require_room(call.bytes);
  CUdeviceptr address = 0;
  check(driver_.cuMemAllocFromPoolAsync(&address, call.bytes, pool(call.pool),
                                        streams_.stream(call.stream)));
  memory_.hold_pooled(address, call.bytes);
  return {.address = address};
}

// Nothing that the client asks for later reaches it, though the GPU may have it for a while.
void Pools::run(const PoolFree& call) {
  auto* const stream = streams_.stream(call.stream);
  memory_.release_pooled(call.address);
  check(driver_.cuMemFreeAsync(call.address, stream));
}

void Pools::run(const PoolCreate& call) {
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

void Pools::run(const PoolDestroy& call) {
  if (call.pool == usual_pool) throw DriverError(CUDA_ERROR_INVALID_VALUE);
  auto* const removed = pool(call.pool);
  pools_.erase(call.pool);
  check(driver_.cuMemPoolDestroy(removed));
}

void Pools::run(const PoolTrim& call) {
  check(driver_.cuMemPoolTrimTo(pool(call.pool), call.bytes));
}

void Pools::run(const PoolSet& call) {
  const CUmemPool_attribute which = attribute_of(call.attribute);
  auto value = static_cast<cuuint64_t>(call.value);
  int flag = call.value != 0 ? 1 : 0;
  check(driver_.cuMemPoolSetAttribute(pool(call.pool), which,
                                      is_pool_flag(which) ? static_cast<void*>(&flag) : &value));
}

PoolValue Pools::run(const PoolGet& call) {
  const CUmemPool_attribute which = attribute_of(call.attribute);
  cuuint64_t value = 0;
  int flag = 0;
  check(driver_.cuMemPoolGetAttribute(pool(call.pool), which,
                                      is_pool_flag(which) ? static_cast<void*>(&flag) : &value));
  return {.value = is_pool_flag(which) ? static_cast<std::uint64_t>(flag != 0) : value};
}

void Pools::reset() {
  for (const auto& [id, each] : pools_)
    driver_.cuMemPoolDestroy(each);
  pools_.clear();
}

}  // namespace gpucast::remote::server
