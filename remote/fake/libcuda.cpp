// The driver functions that the server uses, on host memory.
#include <cuda.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <string>

#include "fake/driver.h"

#pragma GCC visibility push(default)

namespace {

using gpucast::fake::Driver;
using gpucast::fake::Kernel;
using gpucast::fake::Stream;
using gpucast::fake::Work;

// What a process initializes once.
std::unique_ptr<Driver>& the_driver() {
  static std::unique_ptr<Driver> driver;
  return driver;
}

Driver& driver() { return *the_driver(); }

// Begins every function; a status that is not success ends it.
#define ENTER(name)                                     \
  if (!the_driver()) return CUDA_ERROR_NOT_INITIALIZED; \
  if (const CUresult injected = driver().call(name); injected != CUDA_SUCCESS) return injected

std::byte* at(CUdeviceptr address) { return reinterpret_cast<std::byte*>(address); }

bool held(CUdeviceptr address, std::size_t bytes) {
  return driver().settings().reaches_all || driver().current().holds(address, bytes);
}

int attribute(CUdevice_attribute which, CUdevice device) {
  switch (which) {
    case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
    case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X:
    case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y:
      return 1024;
    case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z:
      return 64;
    case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X:
      return 2147483647;
    case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y:
    case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z:
      return 65535;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK:
      return 49152;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN:
      return 232448;
    case CU_DEVICE_ATTRIBUTE_WARP_SIZE:
      return 32;
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
      return 4;
    case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR:
      return 2048;
    case CU_DEVICE_ATTRIBUTE_CLOCK_RATE:
      return 1000000;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
      return 9;
    case CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT:
    case CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING:
    case CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY:
    case CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY:
    case CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED:
      return 1;
    case CU_DEVICE_ATTRIBUTE_PCI_BUS_ID:
      return device + 1;
    default:
      return 0;
  }
}

}  // namespace

extern "C" {

CUresult CUDAAPI cuInit(unsigned int /*flags*/) {
  try {
    if (!the_driver()) the_driver() = std::make_unique<Driver>();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "fake CUDA driver: %s\n", error.what());
    return CUDA_ERROR_INVALID_VALUE;
  }
  return driver().call("cuInit");
}

CUresult CUDAAPI cuDriverGetVersion(int* version) {
  *version = CUDA_VERSION;
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuGetErrorString(CUresult status, const char** text) {
  static thread_local std::string last;
  last = "fake driver's status " + std::to_string(status);
  *text = last.c_str();
  return CUDA_SUCCESS;
}

// ---- devices ----

CUresult CUDAAPI cuDeviceGetCount(int* count) {
  ENTER("cuDeviceGetCount");
  *count = driver().settings().devices;
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDeviceGet(CUdevice* device, int ordinal) {
  ENTER("cuDeviceGet");
  if (ordinal < 0 || ordinal >= driver().settings().devices) return CUDA_ERROR_INVALID_DEVICE;
  *device = ordinal;
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDeviceGetName(char* name, int size, CUdevice device) {
  ENTER("cuDeviceGetName");
  std::snprintf(name, static_cast<std::size_t>(size), "fake GPU %d", device);
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDeviceGetUuid(CUuuid* uuid, CUdevice device) {
  ENTER("cuDeviceGetUuid");
  std::memset(uuid->bytes, device, sizeof uuid->bytes);
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDeviceTotalMem(std::size_t* bytes, CUdevice device) {
  ENTER("cuDeviceTotalMem");
  *bytes = driver().device(device).total_bytes();
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDeviceGetAttribute(int* value, CUdevice_attribute which, CUdevice device) {
  ENTER("cuDeviceGetAttribute");
  *value = attribute(which, device);
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDeviceGetPCIBusId(char* text, int size, CUdevice device) {
  ENTER("cuDeviceGetPCIBusId");
  std::snprintf(text, static_cast<std::size_t>(size), "0000:%02X:00.0",
                static_cast<unsigned>(device) + 1);
  return CUDA_SUCCESS;
}

// A context is no more than the device's number, counted from 1.
CUresult CUDAAPI cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
  ENTER("cuDevicePrimaryCtxRetain");
  *context = reinterpret_cast<CUcontext>(static_cast<std::intptr_t>(device) + 1);
  return CUDA_SUCCESS;
}
CUresult CUDAAPI cuDevicePrimaryCtxRelease(CUdevice /*device*/) {
  ENTER("cuDevicePrimaryCtxRelease");
  return CUDA_SUCCESS;
}
CUresult CUDAAPI cuCtxSetCurrent(CUcontext context) {
  ENTER("cuCtxSetCurrent");
  Driver::current_device = static_cast<int>(reinterpret_cast<std::intptr_t>(context)) - 1;
  return CUDA_SUCCESS;
}
CUresult CUDAAPI cuCtxSynchronize() {
  ENTER("cuCtxSynchronize");
  driver().queues().wait_for_all();
  return driver().queues().failure();
}

// ---- memory ----

CUresult CUDAAPI cuMemGetInfo(std::size_t* free, std::size_t* total) {
  ENTER("cuMemGetInfo");
  *free = driver().current().free_bytes();
  *total = driver().current().total_bytes();
  return CUDA_SUCCESS;
}
CUresult CUDAAPI cuMemAlloc(CUdeviceptr* address, std::size_t bytes) {
  ENTER("cuMemAlloc");
  return driver().current().allocate(*address, bytes);
}
CUresult CUDAAPI cuMemFree(CUdeviceptr address) {
  ENTER("cuMemFree");
  return address == 0 ? CUDA_SUCCESS : driver().current().free(address);
}
CUresult CUDAAPI cuMemHostAlloc(void** memory, std::size_t bytes, unsigned /*flags*/) {
  ENTER("cuMemHostAlloc");
  constexpr std::size_t page = 4096;
  *memory = std::aligned_alloc(page, (bytes + page - 1) / page * page);
  return *memory == nullptr ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}
CUresult CUDAAPI cuMemFreeHost(void* memory) {
  ENTER("cuMemFreeHost");
  std::free(memory);  // NOLINT(cppcoreguidelines-no-malloc): as it was allocated
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuMemAddressReserve(CUdeviceptr* address, std::size_t bytes, std::size_t /*align*/,
                                     CUdeviceptr at, unsigned long long /*flags*/) {
  ENTER("cuMemAddressReserve");
  return driver().current().reserve(*address, bytes, at);
}
CUresult CUDAAPI cuMemAddressFree(CUdeviceptr address, std::size_t /*bytes*/) {
  ENTER("cuMemAddressFree");
  return driver().current().free(address);
}
CUresult CUDAAPI cuMemCreate(CUmemGenericAllocationHandle* handle, std::size_t bytes,
                             const CUmemAllocationProp* /*kind*/, unsigned long long /*flags*/) {
  ENTER("cuMemCreate");
  *handle = bytes;
  return CUDA_SUCCESS;
}
CUresult CUDAAPI cuMemRelease(CUmemGenericAllocationHandle /*handle*/) {
  ENTER("cuMemRelease");
  return CUDA_SUCCESS;
}
CUresult CUDAAPI cuMemMap(CUdeviceptr address, std::size_t bytes, std::size_t /*offset*/,
                          CUmemGenericAllocationHandle handle, unsigned long long /*flags*/) {
  ENTER("cuMemMap");
  return held(address, bytes) && handle == bytes ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
CUresult CUDAAPI cuMemUnmap(CUdeviceptr address, std::size_t bytes) {
  ENTER("cuMemUnmap");
  return held(address, bytes) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
CUresult CUDAAPI cuMemSetAccess(CUdeviceptr address, std::size_t bytes,
                                const CUmemAccessDesc* /*access*/, std::size_t /*count*/) {
  ENTER("cuMemSetAccess");
  return held(address, bytes) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
CUresult CUDAAPI cuMemGetAllocationGranularity(std::size_t* bytes,
                                               const CUmemAllocationProp* /*kind*/,
                                               CUmemAllocationGranularity_flags /*which*/) {
  ENTER("cuMemGetAllocationGranularity");
  *bytes = std::size_t{2} << 20;
  return CUDA_SUCCESS;
}

// ---- memory of other processes ----

CUresult CUDAAPI cuMemGetAddressRange(CUdeviceptr* begin, std::size_t* bytes, CUdeviceptr address) {
  ENTER("cuMemGetAddressRange");
  return driver().current().range(*begin, *bytes, address);
}
CUresult CUDAAPI cuIpcGetMemHandle(CUipcMemHandle* handle, CUdeviceptr address) {
  ENTER("cuIpcGetMemHandle");
  return driver().current().share(*handle, address);
}
CUresult CUDAAPI cuIpcOpenMemHandle(CUdeviceptr* address, CUipcMemHandle handle, unsigned flags) {
  ENTER("cuIpcOpenMemHandle");
  if (flags != CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS) return CUDA_ERROR_INVALID_VALUE;
  return driver().current().open(*address, handle);
}
// Waits for nothing: who closes has to know that the memory is used no more.
CUresult CUDAAPI cuIpcCloseMemHandle(CUdeviceptr address) {
  ENTER("cuIpcCloseMemHandle");
  return driver().current().close(address);
}

// ---- copies ----

CUresult CUDAAPI cuMemcpyHtoDAsync(CUdeviceptr to, const void* from, std::size_t bytes,
                                   CUstream stream) {
  ENTER("cuMemcpyHtoDAsync");
  if (!held(to, bytes)) return CUDA_ERROR_INVALID_VALUE;
  return driver().queue(stream, "copy", [=] { std::memcpy(at(to), from, bytes); });
}
CUresult CUDAAPI cuMemcpyDtoHAsync(void* to, CUdeviceptr from, std::size_t bytes, CUstream stream) {
  ENTER("cuMemcpyDtoHAsync");
  if (!held(from, bytes)) return CUDA_ERROR_INVALID_VALUE;
  return driver().queue(stream, "copy", [=] { std::memcpy(to, at(from), bytes); });
}
CUresult CUDAAPI cuMemcpyDtoDAsync(CUdeviceptr to, CUdeviceptr from, std::size_t bytes,
                                   CUstream stream) {
  ENTER("cuMemcpyDtoDAsync");
  if (!held(to, bytes) || !held(from, bytes)) return CUDA_ERROR_INVALID_VALUE;
  return driver().queue(stream, "copy", [=] { std::memmove(at(to), at(from), bytes); });
}
CUresult CUDAAPI cuMemcpy2DAsync(const CUDA_MEMCPY2D* copy, CUstream stream) {
  ENTER("cuMemcpy2DAsync");
  const CUDA_MEMCPY2D c = *copy;
  if (c.srcMemoryType != CU_MEMORYTYPE_DEVICE || c.dstMemoryType != CU_MEMORYTYPE_DEVICE ||
      c.Height == 0 || !held(c.dstDevice, c.dstPitch * (c.Height - 1) + c.WidthInBytes) ||
      !held(c.srcDevice, c.srcPitch * (c.Height - 1) + c.WidthInBytes)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  return driver().queue(stream, "copy", [c] {
    for (std::size_t row = 0; row < c.Height; ++row)
      std::memmove(at(c.dstDevice + row * c.dstPitch), at(c.srcDevice + row * c.srcPitch),
                   c.WidthInBytes);
  });
}
CUresult CUDAAPI cuMemsetD8Async(CUdeviceptr to, unsigned char value, std::size_t bytes,
                                 CUstream stream) {
  ENTER("cuMemsetD8Async");
  if (!held(to, bytes)) return CUDA_ERROR_INVALID_VALUE;
  return driver().queue(stream, "memset", [=] { std::memset(at(to), value, bytes); });
}
CUresult CUDAAPI cuMemsetD2D8Async(CUdeviceptr to, std::size_t pitch, unsigned char value,
                                   std::size_t width, std::size_t height, CUstream stream) {
  ENTER("cuMemsetD2D8Async");
  if (height == 0 || !held(to, pitch * (height - 1) + width)) return CUDA_ERROR_INVALID_VALUE;
  return driver().queue(stream, "memset", [=] {
    for (std::size_t row = 0; row < height; ++row)
      std::memset(at(to + row * pitch), value, width);
  });
}

// ---- streams and events ----

CUresult CUDAAPI cuStreamCreateWithPriority(CUstream* stream, unsigned flags, int /*priority*/) {
  ENTER("cuStreamCreateWithPriority");
  const bool blocking = (flags & CU_STREAM_NON_BLOCKING) == 0;
  *stream = reinterpret_cast<CUstream>(driver().add_stream(blocking));
  return CUDA_SUCCESS;
}
CUresult CUDAAPI cuStreamDestroy(CUstream handle) {
  ENTER("cuStreamDestroy");
  Stream* stream = driver().stream(handle);
  if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  driver().remove(stream);
  return CUDA_SUCCESS;
}
CUresult CUDAAPI cuStreamQuery(CUstream handle) {
  ENTER("cuStreamQuery");
  const Stream* stream = driver().stream(handle);
  if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  const bool done = driver().queues().done(driver().queues().last(*stream));
  if (const CUresult status = driver().queues().failure(); status != CUDA_SUCCESS) return status;
  return done ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}
CUresult CUDAAPI cuStreamWaitEvent(CUstream stream, CUevent handle, unsigned /*flags*/) {
  ENTER("cuStreamWaitEvent");
  const auto event = driver().event(handle);
  if (event == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  return driver().queue(stream, "wait", [] {}, driver().recorded(*event));
}
CUresult CUDAAPI cuEventCreate(CUevent* event, unsigned flags) {
  ENTER("cuEventCreate");
  *event = reinterpret_cast<CUevent>(driver().add_event((flags & CU_EVENT_DISABLE_TIMING) == 0));
  return CUDA_SUCCESS;
}
CUresult CUDAAPI cuEventDestroy(CUevent handle) {
  ENTER("cuEventDestroy");
  const auto event = driver().event(handle);
  if (event == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  driver().remove(event.get());
  return CUDA_SUCCESS;
}
CUresult CUDAAPI cuEventRecord(CUevent handle, CUstream on) {
  ENTER("cuEventRecord");
  const auto event = driver().event(handle);
  return event == nullptr ? CUDA_ERROR_INVALID_HANDLE : driver().record(event, on);
}
CUresult CUDAAPI cuEventQuery(CUevent handle) {
  ENTER("cuEventQuery");
  const auto event = driver().event(handle);
  if (event == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  const bool done = driver().queues().done(driver().recorded(*event));
  if (const CUresult status = driver().queues().failure(); status != CUDA_SUCCESS) return status;
  return done ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}
CUresult CUDAAPI cuEventSynchronize(CUevent handle) {
  ENTER("cuEventSynchronize");
  const auto event = driver().event(handle);
  if (event == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  driver().queues().wait(driver().recorded(*event));
  return driver().queues().failure();
}
CUresult CUDAAPI cuEventElapsedTime(float* milliseconds, CUevent first, CUevent second) {
  ENTER("cuEventElapsedTime");
  const auto begin = driver().event(first);
  const auto end = driver().event(second);
  if (begin == nullptr || end == nullptr || !begin->timed || !end->timed) {
    return CUDA_ERROR_INVALID_HANDLE;
  }
  const Work began = driver().recorded(*begin);
  const Work ended = driver().recorded(*end);
  if (!began || !ended) return CUDA_ERROR_INVALID_HANDLE;
  if (!driver().queues().done(began) || !driver().queues().done(ended)) return CUDA_ERROR_NOT_READY;
  *milliseconds = std::chrono::duration<float, std::milli>(end->time - begin->time).count();
  return CUDA_SUCCESS;
}

// ---- libraries and kernels ----

CUresult CUDAAPI cuLibraryLoadData(CUlibrary* library, const void* code, CUjit_option* /*options*/,
                                   void** /*values*/, unsigned /*count*/,
                                   CUlibraryOption* /*library_options*/, void** /*values*/,
                                   unsigned /*count*/) {
  ENTER("cuLibraryLoadData");
  constexpr std::uint32_t magic = 0xba55ed50;
  std::uint32_t found = 0;
  std::memcpy(&found, code, sizeof found);
  if (found != magic) return CUDA_ERROR_INVALID_IMAGE;
  *library = reinterpret_cast<CUlibrary>(&the_driver());  // they do not differ
  return CUDA_SUCCESS;
}
CUresult CUDAAPI cuLibraryUnload(CUlibrary /*library*/) {
  ENTER("cuLibraryUnload");
  return CUDA_SUCCESS;
}
CUresult CUDAAPI cuLibraryGetKernel(CUkernel* kernel, CUlibrary /*library*/, const char* name) {
  ENTER("cuLibraryGetKernel");
  const Kernel* found = driver().kernel(name);
  *kernel = reinterpret_cast<CUkernel>(const_cast<Kernel*>(found));
  return found == nullptr ? CUDA_ERROR_NOT_FOUND : CUDA_SUCCESS;
}
CUresult CUDAAPI cuLibraryGetGlobal(CUdeviceptr* address, std::size_t* bytes, CUlibrary /*library*/,
                                    const char* name) {
  ENTER("cuLibraryGetGlobal");
  const auto* variable = driver().variable(name);
  if (variable == nullptr) return CUDA_ERROR_NOT_FOUND;
  *address = reinterpret_cast<CUdeviceptr>(variable->data);
  *bytes = variable->bytes;
  return CUDA_SUCCESS;
}
CUresult CUDAAPI cuKernelGetFunction(CUfunction* function, CUkernel kernel) {
  ENTER("cuKernelGetFunction");
  *function = reinterpret_cast<CUfunction>(kernel);
  return CUDA_SUCCESS;
}
CUresult CUDAAPI cuKernelGetParamInfo(CUkernel kernel, std::size_t index, std::size_t* offset,
                                      std::size_t* bytes) {
  ENTER("cuKernelGetParamInfo");
  const auto& parameters = reinterpret_cast<const Kernel*>(kernel)->parameters;
  if (index >= parameters.size()) return CUDA_ERROR_INVALID_VALUE;
  *offset = parameters[index].offset;
  if (bytes != nullptr) *bytes = parameters[index].bytes;
  return CUDA_SUCCESS;
}
CUresult CUDAAPI cuFuncGetAttribute(int* value, CUfunction_attribute which,
                                    CUfunction /*function*/) {
  ENTER("cuFuncGetAttribute");
  switch (which) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
      *value = 1024;
      break;
    case CU_FUNC_ATTRIBUTE_NUM_REGS:
      *value = 32;
      break;
    case CU_FUNC_ATTRIBUTE_PTX_VERSION:
    case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
      *value = 90;
      break;
    default:
      *value = 0;
  }
  return CUDA_SUCCESS;
}
CUresult CUDAAPI cuFuncSetAttribute(CUfunction /*function*/, CUfunction_attribute which,
                                    int value) {
  ENTER("cuFuncSetAttribute");
  const bool settable = which == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES ||
                        which == CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT;
  constexpr int most_shared = 232448;
  return settable && value <= most_shared ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
CUresult CUDAAPI cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    int* blocks, CUfunction /*function*/, int block, std::size_t /*shared*/, unsigned /*flags*/) {
  ENTER("cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags");
  if (block <= 0) return CUDA_ERROR_INVALID_VALUE;
  constexpr int threads = 2048;
  *blocks = threads / block;
  return CUDA_SUCCESS;
}

// The arguments are read now, as a launch does.
CUresult CUDAAPI cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction function,
                                  void** arguments, void** extra) {
  ENTER("cuLaunchKernelEx");
  const auto* kernel = reinterpret_cast<const Kernel*>(function);
  const gpucast::fake::Shape shape{
      .grid = {config->gridDimX, config->gridDimY, config->gridDimZ},
      .block = {config->blockDimX, config->blockDimY, config->blockDimZ},
      .shared = config->sharedMemBytes};
  constexpr std::size_t most_threads = 1024;
  const std::size_t threads = std::size_t{shape.block[0]} * shape.block[1] * shape.block[2];
  if (extra != nullptr || shape.threads() == 0 || threads > most_threads) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  auto values = std::make_shared<std::vector<std::vector<std::byte>>>();
  for (std::size_t k = 0; k < kernel->parameters.size(); ++k) {
    const auto* begin = static_cast<const std::byte*>(arguments[k]);
    values->emplace_back(begin, begin + kernel->parameters[k].bytes);
  }
  return driver().queue(config->hStream, "kernel", [=] {
    std::vector<const void*> pointers;
    for (const auto& value : *values)
      pointers.push_back(value.data());
    kernel->run(shape, pointers);
  });
}

}  // extern "C"

#pragma GCC visibility pop
