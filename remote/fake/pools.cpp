#include "fake/pools.h"

namespace gpucast::fake {
namespace {

bool is_pool_flag(CUmemPool_attribute which) { return which < CU_MEMPOOL_ATTR_RELEASE_THRESHOLD; }

}  // namespace

CUmemoryPool Pools::make(std::size_t most) {
  auto owned = std::make_unique<Pool>();
  owned->most = most;
  auto* const handle = reinterpret_cast<CUmemoryPool>(owned.get());
  pools_[handle] = std::move(owned);
  return handle;
}

CUmemoryPool Pools::usual(int device) {
  const std::lock_guard lock(mutex_);
  const auto [found, is_new] = usual_.try_emplace(device, nullptr);
  if (is_new) found->second = make(0);
  return found->second;
}

CUmemoryPool Pools::create(std::size_t most) {
  const std::lock_guard lock(mutex_);
  return make(most);
}

CUresult Pools::destroy(CUmemoryPool pool) {
  const std::lock_guard lock(mutex_);
  return pools_.erase(pool) == 0 ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

bool Pools::has(CUmemoryPool pool) {
  const std::lock_guard lock(mutex_);
  return pools_.contains(pool);
}

bool Pools::has_room(CUmemoryPool pool, std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  const auto found = pools_.find(pool);
  return found != pools_.end() &&
         (found->second->most == 0 || bytes <= found->second->most - found->second->used);
}

void Pools::add(CUmemoryPool pool, CUdeviceptr address, std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  pools_.at(pool)->used += bytes;
  memory_[address] = {.pool = pool, .bytes = bytes};
}

bool Pools::remove(CUdeviceptr address) {
  const std::lock_guard lock(mutex_);
  const auto removed = memory_.extract(address);
  if (!removed) return false;
  const auto found = pools_.find(removed.mapped().pool);
  if (found != pools_.end()) found->second->used -= removed.mapped().bytes;
  return true;
}

CUresult Pools::set(CUmemoryPool pool, CUmemPool_attribute which, const void* value) {
  const std::lock_guard lock(mutex_);
  const auto found = pools_.find(pool);
  if (found == pools_.end() || which > CU_MEMPOOL_ATTR_RELEASE_THRESHOLD)
    return CUDA_ERROR_INVALID_VALUE;
  found->second->told[which] = is_pool_flag(which)
                                   ? static_cast<std::uint64_t>(*static_cast<const int*>(value))
                                   : *static_cast<const cuuint64_t*>(value);
  return CUDA_SUCCESS;
}

CUresult Pools::get(CUmemoryPool pool, CUmemPool_attribute which, void* value) {
  const std::lock_guard lock(mutex_);
  const auto found = pools_.find(pool);
  if (found == pools_.end()) return CUDA_ERROR_INVALID_VALUE;
  if (is_pool_flag(which)) {
    *static_cast<int*>(value) = static_cast<int>(found->second->told[which]);
  } else {
    *static_cast<cuuint64_t*>(value) = which == CU_MEMPOOL_ATTR_RELEASE_THRESHOLD
                                           ? found->second->told[which]
                                           : found->second->used;
  }
  return CUDA_SUCCESS;
}

}  // namespace gpucast::fake
