// The driver functions that the server uses, on host memory.
#include <cuda.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "fake/driver.h"

#pragma GCC visibility push(default)

namespace {

using gpucast::fake::Driver;
using gpucast::fake::GraphNode;
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

// What was set of functions.
class FunctionAttributes {
 public:
  void set(CUfunction function, CUfunction_attribute which, int value) {
    const std::lock_guard lock(mutex_);
    values_[{function, which}] = value;
  }
  std::optional<int> of(CUfunction function, CUfunction_attribute which) const {
    const std::lock_guard lock(mutex_);
    const auto found = values_.find({function, which});
    return found == values_.end() ? std::nullopt : std::optional(found->second);
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::pair<CUfunction, CUfunction_attribute>, int> values_;
};

FunctionAttributes& function_attributes() {
  static FunctionAttributes the_attributes;
  return the_attributes;
}

bool held(CUdeviceptr address, std::size_t bytes) {
  return driver().settings().reaches_all || driver().current().holds(address, bytes);
}

CUresult state_of(const Work& work) {
  const bool done = driver().queues().done(work);
  if (const CUresult status = driver().queues().failure(); status != CUDA_SUCCESS) return status;
  return done ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

constexpr int most_shared = 232448;

constexpr auto device_attributes = std::to_array<std::pair<CUdevice_attribute, int>>({
    {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 1024},
    {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X, 1024},
    {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y, 1024},
    {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z, 64},
    {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, 2147483647},
    {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y, 65535},
    {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z, 65535},
    {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, 49152},
    {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, most_shared},
    {CU_DEVICE_ATTRIBUTE_WARP_SIZE, 32},
    {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 4},
    {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, 2048},
    {CU_DEVICE_ATTRIBUTE_CLOCK_RATE, 1000000},
    {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 9},
    {CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT, 1},
    {CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING, 1},
    {CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY, 1},
    {CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY, 1},
    {CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, 1},
});

// The work of a launch, with the arguments as they are now.
std::function<void()> launch_of(CUfunction function, const gpucast::fake::Shape& shape,
                                void* const* arguments) {
  const auto* kernel = reinterpret_cast<const Kernel*>(function);
  auto values = std::make_shared<std::vector<std::vector<std::byte>>>();
  for (std::size_t k = 0; k < kernel->parameters.size(); ++k) {
    const auto* begin = static_cast<const std::byte*>(arguments[k]);
    values->emplace_back(begin, begin + kernel->parameters[k].bytes);
  }
  return [=] {
    std::vector<const void*> pointers;
    for (const auto& value : *values)
      pointers.push_back(value.data());
    kernel->run(shape, pointers);
  };
}

bool can_be_launched(const gpucast::fake::Shape& shape) {
  constexpr std::size_t most_threads = 1024;
  const std::size_t threads = std::size_t{shape.block[0]} * shape.block[1] * shape.block[2];
  return shape.threads() != 0 && threads <= most_threads;
}

// These say whether the driver takes the node.
bool kernel_node(GraphNode& node, const CUDA_KERNEL_NODE_PARAMS& what) {
  const gpucast::fake::Shape shape{.grid = {what.gridDimX, what.gridDimY, what.gridDimZ},
                                   .block = {what.blockDimX, what.blockDimY, what.blockDimZ},
                                   .shared = what.sharedMemBytes};
  if (what.extra != nullptr || what.func == nullptr || !can_be_launched(shape)) return false;
  node = {.kind = "kernel", .work = launch_of(what.func, shape, what.kernelParams)};
  return true;
}

bool copy_node(GraphNode& node, const CUDA_MEMCPY3D& what) {
  const auto end = [&](CUmemorytype type, CUdeviceptr device, const void* host,
                       std::size_t pitch) -> std::byte* {
    if (type == CU_MEMORYTYPE_HOST) return static_cast<std::byte*>(const_cast<void*>(host));
    const bool there =
        what.Height > 0 && held(device, pitch * (what.Height - 1) + what.WidthInBytes);
    return there ? at(device) : nullptr;
  };
  std::byte* to = end(what.dstMemoryType, what.dstDevice, what.dstHost, what.dstPitch);
  std::byte* from = end(what.srcMemoryType, what.srcDevice, what.srcHost, what.srcPitch);
  if (to == nullptr || from == nullptr || what.Depth != 1 || what.WidthInBytes == 0) return false;
  node = {.kind = "copy", .work = [=] {
            for (std::size_t row = 0; row < what.Height; ++row)
              std::memmove(to + row * what.dstPitch, from + row * what.srcPitch, what.WidthInBytes);
          }};
  return true;
}

bool memset_node(GraphNode& node, const CUDA_MEMSET_NODE_PARAMS& what) {
  if (what.elementSize != 1 || what.height == 0 ||
      !held(what.dst, what.pitch * (what.height - 1) + what.width)) {
    return false;
  }
  node = {.kind = "memset", .work = [=] {
            for (std::size_t row = 0; row < what.height; ++row)
              std::memset(at(what.dst + row * what.pitch), static_cast<int>(what.value),
                          what.width);
          }};
  return true;
}

}  // namespace

extern "C" {

CUresult cuInit(unsigned int /*flags*/) {
  try {
    if (!the_driver()) the_driver() = std::make_unique<Driver>();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "fake CUDA driver: %s\n", error.what());
    return CUDA_ERROR_INVALID_VALUE;
  }
  return driver().call("cuInit");
}

CUresult cuDriverGetVersion(int* version) {
  *version = CUDA_VERSION;
  return CUDA_SUCCESS;
}

CUresult cuGetErrorString(CUresult status, const char** text) {
  static thread_local std::string last;
  last = "fake driver's status " + std::to_string(status);
  *text = last.c_str();
  return CUDA_SUCCESS;
}

// ---- devices ----

CUresult cuDeviceGetCount(int* count) {
  ENTER("cuDeviceGetCount");
  *count = driver().settings().devices;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGet(CUdevice* device, int ordinal) {
  ENTER("cuDeviceGet");
  if (ordinal < 0 || ordinal >= driver().settings().devices) return CUDA_ERROR_INVALID_DEVICE;
  *device = ordinal;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetName(char* name, int size, CUdevice device) {
  ENTER("cuDeviceGetName");
  std::snprintf(name, static_cast<std::size_t>(size), "fake GPU %d", device);
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetUuid(CUuuid* uuid, CUdevice device) {
  ENTER("cuDeviceGetUuid");
  std::memset(uuid->bytes, device, sizeof uuid->bytes);
  return CUDA_SUCCESS;
}

CUresult cuDeviceTotalMem(std::size_t* bytes, CUdevice device) {
  ENTER("cuDeviceTotalMem");
  *bytes = driver().device(device).total_bytes();
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute which, CUdevice device) {
  ENTER("cuDeviceGetAttribute");
  const auto* const found =
      std::ranges::find(device_attributes, which, &std::pair<CUdevice_attribute, int>::first);
  *value = found == device_attributes.end() ? 0 : found->second;
  if (which == CU_DEVICE_ATTRIBUTE_PCI_BUS_ID) *value = device + 1;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetPCIBusId(char* text, int size, CUdevice device) {
  ENTER("cuDeviceGetPCIBusId");
  std::snprintf(text, static_cast<std::size_t>(size), "0000:%02X:00.0",
                static_cast<unsigned>(device) + 1);
  return CUDA_SUCCESS;
}

// A context is no more than the device's number, counted from 1.
CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
  ENTER("cuDevicePrimaryCtxRetain");
  *context = reinterpret_cast<CUcontext>(static_cast<std::intptr_t>(device) + 1);
  return CUDA_SUCCESS;
}
CUresult cuCtxSetCurrent(CUcontext context) {
  ENTER("cuCtxSetCurrent");
  Driver::current_device = static_cast<int>(reinterpret_cast<std::intptr_t>(context)) - 1;
  return CUDA_SUCCESS;
}
CUresult cuCtxSynchronize() {
  ENTER("cuCtxSynchronize");
  driver().queues().wait_for_all();
  return driver().queues().failure();
}

// ---- memory ----

CUresult cuMemGetInfo(std::size_t* free, std::size_t* total) {
  ENTER("cuMemGetInfo");
  *free = driver().current().free_bytes();
  *total = driver().current().total_bytes();
  return CUDA_SUCCESS;
}
CUresult cuMemAlloc(CUdeviceptr* address, std::size_t bytes) {
  ENTER("cuMemAlloc");
  return driver().current().allocate(*address, bytes);
}
CUresult cuMemFree(CUdeviceptr address) {
  ENTER("cuMemFree");
  return address == 0 ? CUDA_SUCCESS : driver().current().free(address);
}
CUresult cuMemHostAlloc(void** memory, std::size_t bytes, unsigned /*flags*/) {
  ENTER("cuMemHostAlloc");
  constexpr std::size_t page = 4096;
  *memory = std::aligned_alloc(page, (bytes + page - 1) / page * page);
  return *memory == nullptr ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}

CUresult cuMemHostRegister(void* memory, std::size_t bytes, unsigned /*flags*/) {
  ENTER("cuMemHostRegister");
  return driver().register_memory(memory, bytes) ? CUDA_SUCCESS
                                                 : CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
}
CUresult cuMemHostUnregister(void* memory) {
  ENTER("cuMemHostUnregister");
  return driver().unregister_memory(memory) ? CUDA_SUCCESS : CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
}

CUresult cuMemAddressReserve(CUdeviceptr* address, std::size_t bytes, std::size_t /*align*/,
                             CUdeviceptr at, unsigned long long /*flags*/) {
  ENTER("cuMemAddressReserve");
  return driver().current().reserve(*address, bytes, at);
}
CUresult cuMemAddressFree(CUdeviceptr address, std::size_t /*bytes*/) {
  ENTER("cuMemAddressFree");
  return driver().current().free(address);
}
CUresult cuMemCreate(CUmemGenericAllocationHandle* handle, std::size_t bytes,
                     const CUmemAllocationProp* /*kind*/, unsigned long long /*flags*/) {
  ENTER("cuMemCreate");
  *handle = bytes;
  return CUDA_SUCCESS;
}
CUresult cuMemRelease(CUmemGenericAllocationHandle /*handle*/) {
  ENTER("cuMemRelease");
  return CUDA_SUCCESS;
}
CUresult cuMemMap(CUdeviceptr address, std::size_t bytes, std::size_t /*offset*/,
                  CUmemGenericAllocationHandle handle, unsigned long long /*flags*/) {
  ENTER("cuMemMap");
  return held(address, bytes) && handle == bytes ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
CUresult cuMemUnmap(CUdeviceptr address, std::size_t bytes) {
  ENTER("cuMemUnmap");
  return held(address, bytes) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
CUresult cuMemSetAccess(CUdeviceptr address, std::size_t bytes, const CUmemAccessDesc* /*access*/,
                        std::size_t /*count*/) {
  ENTER("cuMemSetAccess");
  return held(address, bytes) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
CUresult cuMemGetAllocationGranularity(std::size_t* bytes, const CUmemAllocationProp* /*kind*/,
                                       CUmemAllocationGranularity_flags /*which*/) {
  ENTER("cuMemGetAllocationGranularity");
  *bytes = std::size_t{2} << 20;
  return CUDA_SUCCESS;
}

// ---- memory pools ----

CUresult cuDeviceGetDefaultMemPool(CUmemoryPool* pool, CUdevice device) {
  ENTER("cuDeviceGetDefaultMemPool");
  *pool = driver().pools().usual(device);
  return CUDA_SUCCESS;
}
CUresult cuMemPoolCreate(CUmemoryPool* pool, const CUmemPoolProps* properties) {
  ENTER("cuMemPoolCreate");
  if (properties->location.type != CU_MEM_LOCATION_TYPE_DEVICE) return CUDA_ERROR_INVALID_VALUE;
  *pool = driver().pools().create(properties->maxSize);
  return CUDA_SUCCESS;
}
CUresult cuMemPoolDestroy(CUmemoryPool pool) {
  ENTER("cuMemPoolDestroy");
  return driver().pools().destroy(pool);
}
CUresult cuMemPoolTrimTo(CUmemoryPool pool, std::size_t /*bytes*/) {
  ENTER("cuMemPoolTrimTo");
  return driver().pools().has(pool) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
CUresult cuMemPoolSetAttribute(CUmemoryPool pool, CUmemPool_attribute which, void* value) {
  ENTER("cuMemPoolSetAttribute");
  return driver().pools().set(pool, which, value);
}
CUresult cuMemPoolGetAttribute(CUmemoryPool pool, CUmemPool_attribute which, void* value) {
  ENTER("cuMemPoolGetAttribute");
  return driver().pools().get(pool, which, value);
}
CUresult cuMemAllocFromPoolAsync(CUdeviceptr* address, std::size_t bytes, CUmemoryPool pool,
                                 CUstream stream) {
  ENTER("cuMemAllocFromPoolAsync");
  if (driver().stream(stream) == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (!driver().pools().has_room(pool, bytes)) return CUDA_ERROR_OUT_OF_MEMORY;
  const CUresult status = driver().current().allocate(*address, bytes);
  if (status == CUDA_SUCCESS) driver().pools().add(pool, *address, bytes);
  return status;
}
CUresult cuMemFreeAsync(CUdeviceptr address, CUstream stream) {
  ENTER("cuMemFreeAsync");
  if (!driver().pools().remove(address)) return CUDA_ERROR_INVALID_VALUE;
  return driver().queue(stream, "free",
                        [address, &device = driver().current()] { device.release(address); });
}

// ---- memory of other processes ----

CUresult cuMemGetAddressRange(CUdeviceptr* begin, std::size_t* bytes, CUdeviceptr address) {
  ENTER("cuMemGetAddressRange");
  return driver().current().range(*begin, *bytes, address);
}
CUresult cuIpcGetMemHandle(CUipcMemHandle* handle, CUdeviceptr address) {
  ENTER("cuIpcGetMemHandle");
  return driver().current().share(*handle, address);
}
CUresult cuIpcOpenMemHandle(CUdeviceptr* address, CUipcMemHandle handle, unsigned flags) {
  ENTER("cuIpcOpenMemHandle");
  if (flags != CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS) return CUDA_ERROR_INVALID_VALUE;
  return driver().current().open(*address, handle);
}
// Waits for nothing: who closes has to know that the memory is used no more.
CUresult cuIpcCloseMemHandle(CUdeviceptr address) {
  ENTER("cuIpcCloseMemHandle");
  return driver().current().close(address);
}

// ---- copies ----

CUresult cuMemcpyHtoDAsync(CUdeviceptr to, const void* from, std::size_t bytes, CUstream stream) {
  ENTER("cuMemcpyHtoDAsync");
  if (!held(to, bytes)) return CUDA_ERROR_INVALID_VALUE;
  return driver().queue(stream, "copy", [=] { std::memcpy(at(to), from, bytes); });
}
CUresult cuMemcpyDtoHAsync(void* to, CUdeviceptr from, std::size_t bytes, CUstream stream) {
  ENTER("cuMemcpyDtoHAsync");
  if (!held(from, bytes)) return CUDA_ERROR_INVALID_VALUE;
  return driver().queue(stream, "copy", [=] { std::memcpy(to, at(from), bytes); });
}
CUresult cuMemcpyDtoDAsync(CUdeviceptr to, CUdeviceptr from, std::size_t bytes, CUstream stream) {
  ENTER("cuMemcpyDtoDAsync");
  if (!held(to, bytes) || !held(from, bytes)) return CUDA_ERROR_INVALID_VALUE;
  return driver().queue(stream, "copy", [=] { std::memmove(at(to), at(from), bytes); });
}
CUresult cuMemcpy2DAsync(const CUDA_MEMCPY2D* copy, CUstream stream) {
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
CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, std::size_t bytes, CUstream stream) {
  ENTER("cuMemsetD8Async");
  if (!held(to, bytes)) return CUDA_ERROR_INVALID_VALUE;
  return driver().queue(stream, "memset", [=] { std::memset(at(to), value, bytes); });
}
CUresult cuMemsetD2D8Async(CUdeviceptr to, std::size_t pitch, unsigned char value,
                           std::size_t width, std::size_t height, CUstream stream) {
  ENTER("cuMemsetD2D8Async");
  if (height == 0 || !held(to, pitch * (height - 1) + width)) return CUDA_ERROR_INVALID_VALUE;
  return driver().queue(stream, "memset", [=] {
    for (std::size_t row = 0; row < height; ++row)
      std::memset(at(to + row * pitch), value, width);
  });
}

// ---- streams and events ----

CUresult cuStreamCreateWithPriority(CUstream* stream, unsigned flags, int /*priority*/) {
  ENTER("cuStreamCreateWithPriority");
  const bool blocking = (flags & CU_STREAM_NON_BLOCKING) == 0;
  *stream = reinterpret_cast<CUstream>(driver().add_stream(blocking));
  return CUDA_SUCCESS;
}
CUresult cuStreamDestroy(CUstream handle) {
  ENTER("cuStreamDestroy");
  Stream* stream = driver().stream(handle);
  if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  driver().remove(stream);
  return CUDA_SUCCESS;
}
CUresult cuStreamQuery(CUstream handle) {
  ENTER("cuStreamQuery");
  const Stream* stream = driver().stream(handle);
  return stream == nullptr ? CUDA_ERROR_INVALID_HANDLE : state_of(driver().queues().last(*stream));
}
CUresult cuStreamWaitEvent(CUstream stream, CUevent handle, unsigned /*flags*/) {
  ENTER("cuStreamWaitEvent");
  const auto event = driver().event(handle);
  if (event == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  return driver().queue(stream, "wait", [] {}, driver().recorded(*event));
}
CUresult cuStreamWriteValue32(CUstream stream, CUdeviceptr address, cuuint32_t value,
                              unsigned /*flags*/) {
  ENTER("cuStreamWriteValue32");
  return driver().queue(stream, "write", [=] {
    std::atomic_ref(*reinterpret_cast<cuuint32_t*>(address))
        .store(value, std::memory_order_release);
  });
}
CUresult cuLaunchHostFunc(CUstream stream, CUhostFn function, void* data) {
  ENTER("cuLaunchHostFunc");
  return driver().queue(stream, "host", [=] { function(data); });
}
CUresult cuEventCreate(CUevent* event, unsigned flags) {
  ENTER("cuEventCreate");
  *event = reinterpret_cast<CUevent>(driver().add_event((flags & CU_EVENT_DISABLE_TIMING) == 0));
  return CUDA_SUCCESS;
}
CUresult cuEventDestroy(CUevent handle) {
  ENTER("cuEventDestroy");
  const auto event = driver().event(handle);
  if (event == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  driver().remove(event.get());
  return CUDA_SUCCESS;
}
CUresult cuEventRecord(CUevent handle, CUstream on) {
  ENTER("cuEventRecord");
  const auto event = driver().event(handle);
  return event == nullptr ? CUDA_ERROR_INVALID_HANDLE : driver().record(event, on);
}
CUresult cuEventQuery(CUevent handle) {
  ENTER("cuEventQuery");
  const auto event = driver().event(handle);
  return event == nullptr ? CUDA_ERROR_INVALID_HANDLE : state_of(driver().recorded(*event));
}
CUresult cuEventSynchronize(CUevent handle) {
  ENTER("cuEventSynchronize");
  const auto event = driver().event(handle);
  if (event == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  driver().queues().wait(driver().recorded(*event));
  return driver().queues().failure();
}
CUresult cuEventElapsedTime(float* milliseconds, CUevent first, CUevent second) {
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

CUresult cuLibraryLoadData(CUlibrary* library, const void* code, CUjit_option* /*options*/,
                           void** /*values*/, unsigned /*count*/,
                           CUlibraryOption* /*library_options*/, void** /*values*/,
                           unsigned /*count*/) {
  ENTER("cuLibraryLoadData");
  constexpr std::uint32_t magic = 0xba55ed50;
  std::uint32_t found = 0;
  std::memcpy(&found, code, sizeof found);
  if (found != magic) return CUDA_ERROR_INVALID_IMAGE;
  *library = driver().settings().any_kernel
                 ? reinterpret_cast<CUlibrary>(driver().add_image(code))
                 : reinterpret_cast<CUlibrary>(&the_driver());  // they do not differ
  return CUDA_SUCCESS;
}
CUresult cuLibraryUnload(CUlibrary /*library*/) {
  ENTER("cuLibraryUnload");
  return CUDA_SUCCESS;
}
CUresult cuLibraryGetKernel(CUkernel* kernel, CUlibrary library, const char* name) {
  ENTER("cuLibraryGetKernel");
  const Kernel* found = driver().kernel(name);
  if (found == nullptr && driver().settings().any_kernel) {
    found = driver().silent_kernel(
        *reinterpret_cast<gpucast::remote::images::KernelParameters*>(library), name);
  }
  *kernel = reinterpret_cast<CUkernel>(const_cast<Kernel*>(found));
  return found == nullptr ? CUDA_ERROR_NOT_FOUND : CUDA_SUCCESS;
}
CUresult cuLibraryGetGlobal(CUdeviceptr* address, std::size_t* bytes, CUlibrary /*library*/,
                            const char* name) {
  ENTER("cuLibraryGetGlobal");
  const auto* variable = driver().variable(name);
  if (variable == nullptr) return CUDA_ERROR_NOT_FOUND;
  *address = reinterpret_cast<CUdeviceptr>(variable->data);
  *bytes = variable->bytes;
  return CUDA_SUCCESS;
}
CUresult cuKernelGetFunction(CUfunction* function, CUkernel kernel) {
  ENTER("cuKernelGetFunction");
  *function = reinterpret_cast<CUfunction>(kernel);
  return CUDA_SUCCESS;
}
CUresult cuKernelGetParamInfo(CUkernel kernel, std::size_t index, std::size_t* offset,
                              std::size_t* bytes) {
  ENTER("cuKernelGetParamInfo");
  const auto& parameters = reinterpret_cast<const Kernel*>(kernel)->parameters;
  if (index >= parameters.size()) return CUDA_ERROR_INVALID_VALUE;
  *offset = parameters[index].offset;
  if (bytes != nullptr) *bytes = parameters[index].bytes;
  return CUDA_SUCCESS;
}
CUresult cuFuncGetAttribute(int* value, CUfunction_attribute which, CUfunction function) {
  ENTER("cuFuncGetAttribute");
  if (const auto set = function_attributes().of(function, which)) {
    *value = *set;
    return CUDA_SUCCESS;
  }
  static const std::map<CUfunction_attribute, int> known = {
      {CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 1024},
      {CU_FUNC_ATTRIBUTE_NUM_REGS, 32},
      {CU_FUNC_ATTRIBUTE_PTX_VERSION, 90},
      {CU_FUNC_ATTRIBUTE_BINARY_VERSION, 90}};
  const auto found = known.find(which);
  *value = found == known.end() ? 0 : found->second;
  return CUDA_SUCCESS;
}
CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute which, int value) {
  ENTER("cuFuncSetAttribute");
  const bool settable = which == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES ||
                        which == CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT;
  if (!settable || value > most_shared) return CUDA_ERROR_INVALID_VALUE;
  function_attributes().set(function, which, value);
  return CUDA_SUCCESS;
}
CUresult cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, CUfunction /*function*/,
                                                              int block, std::size_t /*shared*/,
                                                              unsigned /*flags*/) {
  ENTER("cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags");
  if (block <= 0) return CUDA_ERROR_INVALID_VALUE;
  constexpr int threads = 2048;
  *blocks = threads / block;
  return CUDA_SUCCESS;
}

// The arguments are read now, as a launch does.
CUresult cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction function, void** arguments,
                          void** extra) {
  ENTER("cuLaunchKernelEx");
  const gpucast::fake::Shape shape{
      .grid = {config->gridDimX, config->gridDimY, config->gridDimZ},
      .block = {config->blockDimX, config->blockDimY, config->blockDimZ},
      .shared = config->sharedMemBytes};
  if (extra != nullptr || !can_be_launched(shape)) return CUDA_ERROR_INVALID_VALUE;
  return driver().queue(config->hStream, "kernel", launch_of(function, shape, arguments));
}

// ---- graphs ----

CUresult cuGraphCreate(CUgraph* graph, unsigned /*flags*/) {
  ENTER("cuGraphCreate");
  *graph = driver().graphs().create();
  return CUDA_SUCCESS;
}
CUresult cuGraphDestroy(CUgraph graph) {
  ENTER("cuGraphDestroy");
  return driver().graphs().destroy(graph);
}
CUresult cuGraphAddEmptyNode(CUgraphNode* made, CUgraph graph, const CUgraphNode* after,
                             std::size_t count) {
  ENTER("cuGraphAddEmptyNode");
  return driver().graphs().add(*made, graph, after, count, {.kind = "", .work = [] {}});
}
CUresult cuGraphAddKernelNode(CUgraphNode* made, CUgraph graph, const CUgraphNode* after,
                              std::size_t count, const CUDA_KERNEL_NODE_PARAMS* what) {
  ENTER("cuGraphAddKernelNode");
  GraphNode node;
  if (!kernel_node(node, *what)) return CUDA_ERROR_INVALID_VALUE;
  return driver().graphs().add(*made, graph, after, count, std::move(node));
}
CUresult cuGraphAddMemcpyNode(CUgraphNode* made, CUgraph graph, const CUgraphNode* after,
                              std::size_t count, const CUDA_MEMCPY3D* what, CUcontext context) {
  ENTER("cuGraphAddMemcpyNode");
  GraphNode node;
  if (context == nullptr || !copy_node(node, *what)) return CUDA_ERROR_INVALID_VALUE;
  return driver().graphs().add(*made, graph, after, count, std::move(node));
}
CUresult cuGraphAddMemsetNode(CUgraphNode* made, CUgraph graph, const CUgraphNode* after,
                              std::size_t count, const CUDA_MEMSET_NODE_PARAMS* what,
                              CUcontext context) {
  ENTER("cuGraphAddMemsetNode");
  GraphNode node;
  if (context == nullptr || !memset_node(node, *what)) return CUDA_ERROR_INVALID_VALUE;
  return driver().graphs().add(*made, graph, after, count, std::move(node));
}
CUresult cuGraphKernelNodeSetAttribute(CUgraphNode /*node*/, CUkernelNodeAttrID /*which*/,
                                       const CUkernelNodeAttrValue* /*value*/) {
  ENTER("cuGraphKernelNodeSetAttribute");
  return CUDA_SUCCESS;
}
CUresult cuGraphInstantiate(CUgraphExec* made, CUgraph graph, unsigned long long /*flags*/) {
  ENTER("cuGraphInstantiate");
  return driver().graphs().instantiate(*made, graph);
}
CUresult cuGraphExecDestroy(CUgraphExec exec) {
  ENTER("cuGraphExecDestroy");
  return driver().graphs().destroy(exec);
}
CUresult cuGraphExecKernelNodeSetParams(CUgraphExec exec, CUgraphNode which,
                                        const CUDA_KERNEL_NODE_PARAMS* what) {
  ENTER("cuGraphExecKernelNodeSetParams");
  GraphNode node;
  if (!kernel_node(node, *what)) return CUDA_ERROR_INVALID_VALUE;
  return driver().graphs().set(exec, which, std::move(node));
}
CUresult cuGraphExecMemcpyNodeSetParams(CUgraphExec exec, CUgraphNode which,
                                        const CUDA_MEMCPY3D* what, CUcontext /*context*/) {
  ENTER("cuGraphExecMemcpyNodeSetParams");
  GraphNode node;
  if (!copy_node(node, *what)) return CUDA_ERROR_INVALID_VALUE;
  return driver().graphs().set(exec, which, std::move(node));
}
CUresult cuGraphExecMemsetNodeSetParams(CUgraphExec exec, CUgraphNode which,
                                        const CUDA_MEMSET_NODE_PARAMS* what,
                                        CUcontext /*context*/) {
  ENTER("cuGraphExecMemsetNodeSetParams");
  GraphNode node;
  if (!memset_node(node, *what)) return CUDA_ERROR_INVALID_VALUE;
  return driver().graphs().set(exec, which, std::move(node));
}
CUresult cuGraphLaunch(CUgraphExec exec, CUstream stream) {
  ENTER("cuGraphLaunch");
  const auto content = driver().graphs().content(exec);
  if (content == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  return driver().queue(stream, "graph", [content] {
    for (const GraphNode& each : *content) {
      driver().pause(each.kind);
      each.work();
    }
  });
}

}  // extern "C"

#pragma GCC visibility pop
