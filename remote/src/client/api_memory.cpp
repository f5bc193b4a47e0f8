// Memory of devices and of the host, and symbols.
#include <cuda_runtime_api.h>
#include <sys/mman.h>

#include "client/copies.h"
#include "client/entry.h"

using namespace gpucast::remote;
using namespace gpucast::remote::client;

namespace {

// Pinned for the program's own devices is nothing here: what makes copies fast is that the memory
// is there, and that it may be read later.
cudaError_t allocate_host(void** memory, std::size_t bytes, unsigned flags) {
  if (memory == nullptr) return cudaErrorInvalidValue;
  *memory = nullptr;
  runtime().device_count();
  constexpr unsigned known =
      cudaHostAllocPortable | cudaHostAllocMapped | cudaHostAllocWriteCombined;
  if ((flags & ~known) != 0) return cudaErrorInvalidValue;
  if ((flags & cudaHostAllocMapped) != 0) return runtime().unsupported("cudaHostAllocMapped");
  if (bytes == 0) return cudaSuccess;
  void* got = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  if (got == MAP_FAILED) return cudaErrorMemoryAllocation;
  runtime().memory.pin(got, bytes, flags, true);
  *memory = got;
  return cudaSuccess;
}

// Copies under way still use it.
void settle_all() {
  for (int device = 0; device < runtime().device_count(); ++device)
    require(runtime().gpu(device).settle());
}

}  // namespace

extern "C" {

cudaError_t cudaMalloc(void** memory, std::size_t bytes) {
  return entry<"cudaMalloc">([&] { return allocate(memory, bytes); });
}
cudaError_t cudaMallocAsync(void** memory, std::size_t bytes, cudaStream_t stream) {
  return entry<"cudaMallocAsync">([&] {
    runtime().stream(stream);
    return allocate(memory, bytes);
  });
}
cudaError_t cudaMallocAsync_ptsz(void** memory, std::size_t bytes, cudaStream_t stream) {
  return cudaMallocAsync(memory, bytes, own(stream));
}
cudaError_t cudaFree(void* memory) {
  return entry<"cudaFree">([&] { return deallocate(memory); });
}
// The server frees once all of the GPU's work is done, which is later than the stream's.
cudaError_t cudaFreeAsync(void* memory, cudaStream_t stream) {
  return entry<"cudaFreeAsync">([&] {
    runtime().stream(stream);
    return deallocate(memory);
  });
}
cudaError_t cudaFreeAsync_ptsz(void* memory, cudaStream_t stream) {
  return cudaFreeAsync(memory, own(stream));
}

cudaError_t cudaMallocPitch(void** memory, std::size_t* pitch, std::size_t width,
                            std::size_t height) {
  return entry<"cudaMallocPitch">([&] {
    if (pitch == nullptr) return cudaErrorInvalidValue;
    constexpr std::size_t unit = 512;
    std::size_t bytes = 0;
    if (__builtin_add_overflow(width, unit - 1, &bytes)) return cudaErrorMemoryAllocation;
    *pitch = bytes / unit * unit;
    if (__builtin_mul_overflow(*pitch, height, &bytes)) return cudaErrorMemoryAllocation;
    return allocate(memory, bytes);
  });
}

cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total) {
  return entry<"cudaMemGetInfo">([&] {
    MemAmounts amounts;
    require(runtime().current().ask(MemInfo{}, amounts));
    if (free != nullptr) *free = amounts.free;
    if (total != nullptr) *total = amounts.total;
    return cudaSuccess;
  });
}

cudaError_t cudaMallocHost(void** memory, std::size_t bytes) {
  return entry<"cudaMallocHost">(
      [&] { return allocate_host(memory, bytes, cudaHostAllocDefault); });
}
cudaError_t cudaHostAlloc(void** memory, std::size_t bytes, unsigned flags) {
  return entry<"cudaHostAlloc">([&] { return allocate_host(memory, bytes, flags); });
}
cudaError_t cudaFreeHost(void* memory) {
  return entry<"cudaFreeHost">([&] {
    runtime().device_count();
    if (memory == nullptr) return cudaSuccess;
    if (!runtime().memory.pinned(memory, 1)) return cudaErrorInvalidValue;
    settle_all();
    const auto found = runtime().memory.unpin(memory, true);
    if (!found) return cudaErrorInvalidValue;
    munmap(memory, found->bytes);
    return cudaSuccess;
  });
}
cudaError_t cudaHostRegister(void* memory, std::size_t bytes, unsigned flags) {
  return entry<"cudaHostRegister">([&] {
    runtime().device_count();
    constexpr unsigned allowed = cudaHostRegisterPortable | cudaHostRegisterReadOnly;
    if (memory == nullptr || bytes == 0) return cudaErrorInvalidValue;
    if ((flags & cudaHostRegisterMapped) != 0)
      return runtime().unsupported("cudaHostRegisterMapped");
    if ((flags & cudaHostRegisterIoMemory) != 0)
      return runtime().unsupported("cudaHostRegisterIoMemory");
    if ((flags & ~allowed) != 0) return cudaErrorInvalidValue;
    return runtime().memory.pin(memory, bytes, flags, false) ? cudaSuccess
                                                             : cudaErrorHostMemoryAlreadyRegistered;
  });
}
cudaError_t cudaHostUnregister(void* memory) {
  return entry<"cudaHostUnregister">([&] {
    settle_all();
    return runtime().memory.unpin(memory, false) ? cudaSuccess : cudaErrorHostMemoryNotRegistered;
  });
}
cudaError_t cudaHostGetFlags(unsigned* flags, void* memory) {
  return entry<"cudaHostGetFlags">([&] {
    const auto found = runtime().memory.pinned(memory, 1);
    if (flags == nullptr || !found) return cudaErrorInvalidValue;
    *flags = found->flags;
    return cudaSuccess;
  });
}
cudaError_t cudaHostGetDevicePointer(void** device, void* /*host*/, unsigned /*flags*/) {
  return entry<"cudaHostGetDevicePointer">([&] {
    if (device != nullptr) *device = nullptr;
    return runtime().unsupported("cudaHostGetDevicePointer");
  });
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* result, const void* address) {
  return entry<"cudaPointerGetAttributes">([&] {
    if (result == nullptr) return cudaErrorInvalidValue;
    runtime().device_count();
    *result = {};
    auto* pointer = const_cast<void*>(address);
    if (const auto memory = runtime().memory.device_memory(reinterpret_cast<Address>(address))) {
      result->type = cudaMemoryTypeDevice;
      result->device = memory->device;
      result->devicePointer = pointer;
    } else if (runtime().memory.pinned(address, 1)) {
      result->type = cudaMemoryTypeHost;
      result->device = this_thread().device;
      result->hostPointer = pointer;
    } else {
      result->type = cudaMemoryTypeUnregistered;
      result->device = cudaInvalidDeviceId;
      result->hostPointer = pointer;
    }
    return cudaSuccess;
  });
}

cudaError_t cudaGetSymbolAddress(void** address, const void* host) {
  return entry<"cudaGetSymbolAddress">([&] {
    if (address == nullptr) return cudaErrorInvalidValue;
    *address = reinterpret_cast<void*>(symbol(host).address);
    return cudaSuccess;
  });
}
cudaError_t cudaGetSymbolSize(std::size_t* bytes, const void* host) {
  return entry<"cudaGetSymbolSize">([&] {
    if (bytes == nullptr) return cudaErrorInvalidValue;
    *bytes = symbol(host).bytes;
    return cudaSuccess;
  });
}

}  // extern "C"
