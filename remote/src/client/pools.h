// The program's memory pools, and which of them a device takes memory from.
#pragma once

#include <driver_types.h>

#include <map>
#include <mutex>

#include "client/handles.h"

namespace gpucast::remote::client {

class Pools {
 public:
  Handles<cudaMemPool_t> handles;

  // The one that every device has.
  cudaMemPool_t usual(int device);
  cudaMemPool_t current(int device);
  // Failure if it is not the device's.
  void set_current(int device, cudaMemPool_t pool);
  // Failure if it is one that every device has.
  DeviceObject remove(cudaMemPool_t pool);
  void forget(int device);

 private:
  std::mutex mutex_;
  std::map<int, cudaMemPool_t> usual_;
  std::map<int, cudaMemPool_t> current_;
};

}  // namespace gpucast::remote::client
