// Memory pools of the fake driver: what is in them, and what they were told. Memory goes back to
// the device at once.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <unordered_map>

namespace gpucast::fake {

class Pools {
 public:
  CUmemoryPool usual(int device);
  CUmemoryPool create(std::size_t most);
  CUresult destroy(CUmemoryPool pool);
  bool has(CUmemoryPool pool);
  bool has_room(CUmemoryPool pool, std::size_t bytes);
  void add(CUmemoryPool pool, CUdeviceptr address, std::size_t bytes);
  // Whether it came from one.
  bool remove(CUdeviceptr address);
  CUresult set(CUmemoryPool pool, CUmemPool_attribute which, const void* value);
  CUresult get(CUmemoryPool pool, CUmemPool_attribute which, void* value);

 private:
  struct Pool {
    std::size_t most = 0;  // 0: no bound
    std::uint64_t used = 0;
    std::map<CUmemPool_attribute, std::uint64_t> told;
  };
  struct Memory {
    CUmemoryPool pool = nullptr;
    std::size_t bytes = 0;
  };
  CUmemoryPool make(std::size_t most);

  std::mutex mutex_;
  std::map<int, CUmemoryPool> usual_;
  std::unordered_map<CUmemoryPool, std::unique_ptr<Pool>> pools_;
  std::unordered_map<CUdeviceptr, Memory> memory_;
};

}  // namespace gpucast::fake
