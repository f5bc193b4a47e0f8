// Entry points for memory of devices and of the host, and for symbols.
#include <cuda_runtime_api.h>

#include "client/entry.h"
#include "client/works.h"

using namespace gpucast::remote;
using namespace gpucast::remote::client;

namespace {

// Page locking for local devices has no effect here. Copies are fast because the memory exists and
// may be read later, and fastest where a server on this host shares it.
void allocate_host(void** memory, std::size_t bytes, unsigned flags) {
  give(memory, nullptr);
  runtime().device_count();
  constexpr unsigned known =
      cudaHostAllocPortable | cudaHostAllocMapped | cudaHostAllocWriteCombined;
  require_valid((flags & ~known) == 0);
  refuse_if((flags & cudaHostAllocMapped) != 0, "cudaHostAllocMapped");
  if (bytes == 0) return;
  void* got = runtime().segments.allocate(bytes);
  if (got == nullptr) {
    got = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE,
               -1, 0);
  }
  if (got == MAP_FAILED) throw Failure{cudaErrorMemoryAllocation};
  runtime().memory.pin(got, bytes, flags, true);
  *memory = got;
}

// Copies in progress still use the memory.
void settle_all() {
  for (int device = 0; device < runtime().device_count(); ++device)
    runtime().gpu(device).settle();
}

}  // namespace

extern "C" {

cudaError_t cudaMalloc(void** memory, std::size_t bytes) { return ENTRY(allocate(memory, bytes)); }
cudaError_t cudaFree(void* memory) { return ENTRY(deallocate(memory)); }

cudaError_t cudaMallocPitch(void** memory, std::size_t* pitch, std::size_t width,
                            std::size_t height) {
  return entry([&] {
    constexpr std::size_t unit = 512;
    std::size_t bytes = 0;
    if (__builtin_add_overflow(width, unit - 1, &bytes)) throw Failure{cudaErrorMemoryAllocation};
    give(pitch, bytes / unit * unit);
    if (__builtin_mul_overflow(*pitch, height, &bytes)) throw Failure{cudaErrorMemoryAllocation};
    allocate(memory, bytes);
  });
}

cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total) {
  return entry([&] {
    const MemAmounts amounts = runtime().current().call(MemInfo{});
    if (free != nullptr) *free = amounts.free;
    if (total != nullptr) *total = amounts.total;
  });
}

cudaError_t cudaMallocHost(void** memory, std::size_t bytes) {
  return ENTRY(allocate_host(memory, bytes, cudaHostAllocDefault));
}
cudaError_t cudaHostAlloc(void** memory, std::size_t bytes, unsigned flags) {
  return ENTRY(allocate_host(memory, bytes, flags));
}
cudaError_t cudaFreeHost(void* memory) {
  return entry([&] {
    runtime().device_count();
    if (memory == nullptr) return;
    require_valid(runtime().memory.pinned(memory, 1));
    settle_all();
    const std::size_t bytes = require_valid(runtime().memory.unpin(memory, true)).bytes;
    if (!runtime().segments.free(memory)) munmap(memory, bytes);
  });
}
cudaError_t cudaHostRegister(void* memory, std::size_t bytes, unsigned flags) {
  return entry([&] {
    runtime().device_count();
    constexpr unsigned allowed = cudaHostRegisterPortable | cudaHostRegisterReadOnly;
    require_valid(memory != nullptr && bytes != 0);
    refuse_if((flags & cudaHostRegisterMapped) != 0, "cudaHostRegisterMapped");
    refuse_if((flags & cudaHostRegisterIoMemory) != 0, "cudaHostRegisterIoMemory");
    require_valid((flags & ~allowed) == 0);
    if (!runtime().memory.pin(memory, bytes, flags, false))
      throw Failure{cudaErrorHostMemoryAlreadyRegistered};
  });
}
cudaError_t cudaHostUnregister(void* memory) {
  return entry([&] {
    settle_all();
    if (!runtime().memory.unpin(memory, false)) throw Failure{cudaErrorHostMemoryNotRegistered};
  });
}
cudaError_t cudaHostGetFlags(unsigned* flags, void* memory) {
  return ENTRY(give(flags, require_valid(runtime().memory.pinned(memory, 1)).flags));
}
cudaError_t cudaGetSymbolAddress(void** address, const void* host) {
  return ENTRY(give(address, reinterpret_cast<void*>(symbol(host).address)));
}
cudaError_t cudaGetSymbolSize(std::size_t* bytes, const void* host) {
  return ENTRY(give(bytes, symbol(host).bytes));
}

}  // extern "C"
