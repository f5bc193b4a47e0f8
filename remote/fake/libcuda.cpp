// The driver functions that the server uses, on host memory. Checks that the server makes itself
// are not repeated: handles are trusted.
#include <cuda.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <exception>

#include "fake/driver.h"

#pragma GCC visibility push(default)

namespace {

using gpucast::fake::Driver;
using gpucast::fake::Event;
using gpucast::fake::Kernel;
using gpucast::fake::Shape;
using gpucast::fake::Stream;
using gpucast::fake::Work;

// The driver of this process, which cuInit makes.
std::unique_ptr<Driver>& the_driver() {
  static std::unique_ptr<Driver> driver;
  return driver;
}

Driver& driver() { return *the_driver(); }

// Counts a call and delays or fails it as the settings say; a status other than success ends it.
// The name is a macro's expansion (cuMemAlloc_v2) where the header has one.
CUresult enter(std::string_view function) {
  if (!the_driver()) return CUDA_ERROR_NOT_INITIALIZED;
  constexpr std::string_view version = "_v2";
  if (function.ends_with(version)) function.remove_suffix(version.size());
  return driver().call(std::string(function));
}
#define ENTER() \
  if (const CUresult status = enter(__func__); status != CUDA_SUCCESS) return status
// The same for calls that are a single expression.
#define ENTRY(...) \
  ENTER();         \
  return __VA_ARGS__

template <class T>
CUresult set(T& value, const std::type_identity_t<T>& to) {
  value = to;
  return CUDA_SUCCESS;
}
CUresult valid(bool is_valid) { return is_valid ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE; }

std::byte* at(CUdeviceptr address) { return reinterpret_cast<std::byte*>(address); }

// Only a server's session sets and reads limits.
std::map<CUlimit, std::size_t>& limits() {
  static std::map<CUlimit, std::size_t> values{{CU_LIMIT_STACK_SIZE, 1024}};
  return values;
}

bool held(CUdeviceptr address, std::size_t bytes) {
  return driver().settings().reaches_all || driver().current().holds(address, bytes);
}
bool rows_held(CUdeviceptr address, std::size_t pitch, std::size_t width, std::size_t height) {
  return height > 0 && held(address, pitch * (height - 1) + width);
}

CUresult state_of(const Work& work) {
  const bool done = driver().queues().done(work);
  if (const CUresult status = driver().queues().failure(); status != CUDA_SUCCESS) return status;
  return done ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

// An event lives as long as somebody holds it, including work that records it.
std::shared_ptr<Event>& event_of(CUevent handle) {
  return *reinterpret_cast<std::shared_ptr<Event>*>(handle);
}

constexpr int most_shared = 232448;

// Only a server's session sets and reads attributes.
std::map<std::pair<CUfunction, CUfunction_attribute>, int>& attributes_set() {
  static std::map<std::pair<CUfunction, CUfunction_attribute>, int> values;
  return values;
}

// The work of a launch, with the arguments as they are now.
std::function<void()> launch_of(CUfunction function, const Shape& shape, void* const* arguments) {
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

// Grid and block of CUlaunchConfig or CUDA_KERNEL_NODE_PARAMS, or nothing if no GPU can launch
// them.
template <class Parameters>
std::optional<Shape> shape_of(const Parameters& what) {
  const Shape shape{.grid = {what.gridDimX, what.gridDimY, what.gridDimZ},
                    .block = {what.blockDimX, what.blockDimY, what.blockDimZ},
                    .shared = what.sharedMemBytes};
  constexpr std::size_t most_threads = 1024;
  const std::size_t threads = std::size_t{shape.block[0]} * shape.block[1] * shape.block[2];
  return shape.threads() != 0 && threads <= most_threads ? std::optional(shape) : std::nullopt;
}

using Body = std::function<void()>;

// Queues the body if the memory that it touches is allocated.
CUresult queue_if(bool is_held, CUstream stream, const char* kind, Body body) {
  return is_held ? driver().queue(stream, kind, std::move(body)) : CUDA_ERROR_INVALID_VALUE;
}

Body copied_rows(std::byte* to, std::size_t to_pitch, const std::byte* from, std::size_t from_pitch,
                 std::size_t width, std::size_t height) {
  return [=] {
    for (std::size_t row = 0; row < height; ++row)
      std::memmove(to + row * to_pitch, from + row * from_pitch, width);
  };
}
Body set_rows(CUdeviceptr to, std::size_t pitch, unsigned value, std::size_t width,
              std::size_t height) {
  return [=] {
    for (std::size_t row = 0; row < height; ++row)
      std::memset(at(to + row * pitch), static_cast<int>(value), width);
  };
}

// ---- graphs: their nodes run one after another, as one operation of a stream ----

struct GraphNode {
  const char* kind = "";  // the kind of pause: `kernel`, `copy`, `memset`
  Body work = [] {};
};
// A graph, or one that is ready to launch; a node's handle is its position, counted from 1.
using Nodes = std::vector<GraphNode>;

template <class Graph>
Nodes& nodes_of(Graph graph) {
  return *reinterpret_cast<Nodes*>(graph);
}

// These return nothing if the driver does not take the node.
std::optional<GraphNode> node_of(const CUDA_KERNEL_NODE_PARAMS& what) {
  const auto shape = shape_of(what);
  if (what.extra != nullptr || what.func == nullptr || !shape) return std::nullopt;
  return GraphNode{.kind = "kernel", .work = launch_of(what.func, *shape, what.kernelParams)};
}

std::optional<GraphNode> node_of(const CUDA_MEMCPY3D& what) {
  const auto end = [&](CUmemorytype type, CUdeviceptr device, const void* host,
                       std::size_t pitch) -> std::byte* {
    if (type == CU_MEMORYTYPE_HOST) return static_cast<std::byte*>(const_cast<void*>(host));
    return rows_held(device, pitch, what.WidthInBytes, what.Height) ? at(device) : nullptr;
  };
  std::byte* to = end(what.dstMemoryType, what.dstDevice, what.dstHost, what.dstPitch);
  std::byte* from = end(what.srcMemoryType, what.srcDevice, what.srcHost, what.srcPitch);
  if (to == nullptr || from == nullptr || what.Depth != 1 || what.WidthInBytes == 0)
    return std::nullopt;
  return GraphNode{
      .kind = "copy",
      .work = copied_rows(to, what.dstPitch, from, what.srcPitch, what.WidthInBytes, what.Height)};
}

std::optional<GraphNode> node_of(const CUDA_MEMSET_NODE_PARAMS& what) {
  if (what.elementSize != 1 || !rows_held(what.dst, what.pitch, what.width, what.height))
    return std::nullopt;
  return GraphNode{.kind = "memset",
                   .work = set_rows(what.dst, what.pitch, what.value, what.width, what.height)};
}

// Adds a node behind nodes that are in the graph already.
CUresult add_node(CUgraphNode* made, CUgraph graph, const CUgraphNode* after, std::size_t count,
                  std::optional<GraphNode> node) {
  Nodes& nodes = nodes_of(graph);
  const bool known = std::all_of(after, after + count, [&](CUgraphNode before) {
    return reinterpret_cast<std::uintptr_t>(before) <= nodes.size();
  });
  if (!known || !node) return CUDA_ERROR_INVALID_VALUE;
  nodes.push_back(*std::move(node));
  *made = reinterpret_cast<CUgraphNode>(nodes.size());
  return CUDA_SUCCESS;
}

CUresult set_node(CUgraphExec exec, CUgraphNode which, std::optional<GraphNode> node) {
  if (!node) return CUDA_ERROR_INVALID_VALUE;
  nodes_of(exec).at(reinterpret_cast<std::uintptr_t>(which) - 1) = *std::move(node);
  return CUDA_SUCCESS;
}

// ---- memory pools: freed memory returns to the device at once ----

struct Pool {
  std::size_t most = 0;  // bytes; 0: no bound
  std::uint64_t used = 0;
  std::map<CUmemPool_attribute, std::uint64_t> told = {};
};
struct Pools {
  std::map<CUdevice, Pool> usual;
  std::deque<Pool> made;  // pools are never removed: memory may still be in them
  std::map<CUdeviceptr, std::pair<Pool*, std::size_t>> memory;
};
Pools& pools() {
  static Pools the_pools;
  return the_pools;
}
Pool& pool_of(CUmemoryPool handle) { return *reinterpret_cast<Pool*>(handle); }

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

CUresult cuDriverGetVersion(int* version) { return set(*version, CUDA_VERSION); }

CUresult cuGetErrorString(CUresult status, const char** text) {
  static thread_local std::string last;
  last = "fake driver's status " + std::to_string(status);
  return set(*text, last.c_str());
}

// ---- devices ----

CUresult cuDeviceGetCount(int* count) { ENTRY(set(*count, driver().settings().devices)); }

CUresult cuDeviceGet(CUdevice* device, int ordinal) {
  ENTRY(ordinal >= 0 && ordinal < driver().settings().devices ? set(*device, ordinal)
                                                              : CUDA_ERROR_INVALID_DEVICE);
}

CUresult cuDeviceGetName(char* name, int size, CUdevice device) {
  ENTER();
  std::snprintf(name, static_cast<std::size_t>(size), "fake GPU %d", device);
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetUuid(CUuuid* uuid, CUdevice device) {
  ENTER();
  std::memset(uuid->bytes, device, sizeof uuid->bytes);
  return CUDA_SUCCESS;
}

CUresult cuDeviceTotalMem(std::size_t* bytes, CUdevice device) {
  ENTRY(set(*bytes, driver().device(device).total_bytes()));
}

CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute which, CUdevice device) {
  ENTER();
  if (which == CU_DEVICE_ATTRIBUTE_PCI_BUS_ID) return set(*value, device + 1);
  static const std::map<CUdevice_attribute, int> attributes = {
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
  };
  const auto known = attributes.find(which);
  return set(*value, known == attributes.end() ? 0 : known->second);
}

CUresult cuDeviceGetPCIBusId(char* text, int size, CUdevice device) {
  ENTER();
  std::snprintf(text, static_cast<std::size_t>(size), "0000:%02X:00.0",
                static_cast<unsigned>(device) + 1);
  return CUDA_SUCCESS;
}

// A context is only the device's number, counted from 1.
CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
  ENTRY(set(*context, reinterpret_cast<CUcontext>(static_cast<std::intptr_t>(device) + 1)));
}
CUresult cuCtxSetCurrent(CUcontext context) {
  ENTER();
  Driver::current_device = static_cast<int>(reinterpret_cast<std::intptr_t>(context)) - 1;
  return CUDA_SUCCESS;
}
CUresult cuCtxSynchronize() {
  ENTER();
  driver().queues().wait_for_all();
  return driver().queues().failure();
}

CUresult cuCtxSetLimit(CUlimit limit, std::size_t value) { ENTRY(set(limits()[limit], value)); }
CUresult cuCtxGetLimit(std::size_t* value, CUlimit limit) { ENTRY(set(*value, limits()[limit])); }

// ---- memory ----

CUresult cuMemGetInfo(std::size_t* free, std::size_t* total) {
  ENTER();
  *free = driver().current().free_bytes();
  return set(*total, driver().current().total_bytes());
}
CUresult cuMemAlloc(CUdeviceptr* address, std::size_t bytes) {
  ENTRY(driver().current().allocate(*address, bytes));
}
CUresult cuMemFree(CUdeviceptr address) {
  ENTRY(address == 0 ? CUDA_SUCCESS : driver().current().free(address));
}
CUresult cuMemHostAlloc(void** memory, std::size_t bytes, unsigned /*flags*/) {
  ENTER();
  constexpr std::size_t page = 4096;
  *memory = std::aligned_alloc(page, (bytes + page - 1) / page * page);
  return *memory == nullptr ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}

CUresult cuMemHostRegister(void* memory, std::size_t bytes, unsigned /*flags*/) {
  ENTRY(driver().register_memory(memory, bytes) ? CUDA_SUCCESS
                                                : CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
}
CUresult cuMemHostUnregister(void* memory) {
  ENTRY(driver().unregister_memory(memory) ? CUDA_SUCCESS : CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
}

CUresult cuMemAddressReserve(CUdeviceptr* address, std::size_t bytes, std::size_t /*align*/,
                             CUdeviceptr at, unsigned long long /*flags*/) {
  ENTRY(driver().current().reserve(*address, bytes, at));
}
CUresult cuMemAddressFree(CUdeviceptr address, std::size_t /*bytes*/) {
  ENTRY(driver().current().free(address));
}
CUresult cuMemCreate(CUmemGenericAllocationHandle* handle, std::size_t bytes,
                     const CUmemAllocationProp* /*kind*/, unsigned long long /*flags*/) {
  ENTRY(set(*handle, bytes));
}
CUresult cuMemRelease(CUmemGenericAllocationHandle /*handle*/) { ENTRY(CUDA_SUCCESS); }
CUresult cuMemMap(CUdeviceptr address, std::size_t bytes, std::size_t /*offset*/,
                  CUmemGenericAllocationHandle handle, unsigned long long /*flags*/) {
  ENTRY(valid(held(address, bytes) && handle == bytes));
}
CUresult cuMemUnmap(CUdeviceptr address, std::size_t bytes) { ENTRY(valid(held(address, bytes))); }
CUresult cuMemSetAccess(CUdeviceptr address, std::size_t bytes, const CUmemAccessDesc* /*access*/,
                        std::size_t /*count*/) {
  ENTRY(valid(held(address, bytes)));
}
CUresult cuMemGetAllocationGranularity(std::size_t* bytes, const CUmemAllocationProp* /*kind*/,
                                       CUmemAllocationGranularity_flags /*which*/) {
  ENTRY(set(*bytes, std::size_t{2} << 20));
}

// ---- memory pools ----

CUresult cuDeviceGetDefaultMemPool(CUmemoryPool* pool, CUdevice device) {
  ENTRY(set(*pool, reinterpret_cast<CUmemoryPool>(&pools().usual[device])));
}
CUresult cuMemPoolCreate(CUmemoryPool* pool, const CUmemPoolProps* properties) {
  ENTER();
  if (properties->location.type != CU_MEM_LOCATION_TYPE_DEVICE) return CUDA_ERROR_INVALID_VALUE;
  Pool& made = pools().made.emplace_back(Pool{.most = properties->maxSize});
  return set(*pool, reinterpret_cast<CUmemoryPool>(&made));
}
CUresult cuMemPoolDestroy(CUmemoryPool /*pool*/) { ENTRY(CUDA_SUCCESS); }
CUresult cuMemPoolTrimTo(CUmemoryPool /*pool*/, std::size_t /*bytes*/) { ENTRY(CUDA_SUCCESS); }
CUresult cuMemPoolSetAttribute(CUmemoryPool pool, CUmemPool_attribute which, void* value) {
  ENTER();
  if (which > CU_MEMPOOL_ATTR_RELEASE_THRESHOLD) return CUDA_ERROR_INVALID_VALUE;
  const bool is_flag = which < CU_MEMPOOL_ATTR_RELEASE_THRESHOLD;
  return set(pool_of(pool).told[which], is_flag ? static_cast<cuuint64_t>(*static_cast<int*>(value))
                                                : *static_cast<cuuint64_t*>(value));
}
CUresult cuMemPoolGetAttribute(CUmemoryPool pool, CUmemPool_attribute which, void* value) {
  ENTER();
  const bool is_told = which <= CU_MEMPOOL_ATTR_RELEASE_THRESHOLD;
  const std::uint64_t now = is_told ? pool_of(pool).told[which] : pool_of(pool).used;
  if (which < CU_MEMPOOL_ATTR_RELEASE_THRESHOLD)
    return set(*static_cast<int*>(value), static_cast<int>(now));
  return set(*static_cast<cuuint64_t*>(value), now);
}
CUresult cuMemAllocFromPoolAsync(CUdeviceptr* address, std::size_t bytes, CUmemoryPool handle,
                                 CUstream /*stream*/) {
  ENTER();
  Pool& pool = pool_of(handle);
  if (pool.most != 0 && bytes > pool.most - pool.used) return CUDA_ERROR_OUT_OF_MEMORY;
  const CUresult allocated = driver().current().allocate(*address, bytes);
  if (allocated != CUDA_SUCCESS) return allocated;
  pool.used += bytes;
  pools().memory[*address] = {&pool, bytes};
  return CUDA_SUCCESS;
}
CUresult cuMemFreeAsync(CUdeviceptr address, CUstream stream) {
  ENTER();
  const auto removed = pools().memory.extract(address);
  if (!removed) return CUDA_ERROR_INVALID_VALUE;
  removed.mapped().first->used -= removed.mapped().second;
  return driver().queue(stream, "free",
                        [address, &device = driver().current()] { device.release(address); });
}

// ---- memory of other processes ----

CUresult cuMemGetAddressRange(CUdeviceptr* begin, std::size_t* bytes, CUdeviceptr address) {
  ENTRY(driver().current().range(*begin, *bytes, address));
}
CUresult cuIpcGetMemHandle(CUipcMemHandle* handle, CUdeviceptr address) {
  ENTRY(driver().current().share(*handle, address));
}
CUresult cuIpcOpenMemHandle(CUdeviceptr* address, CUipcMemHandle handle, unsigned flags) {
  ENTRY(flags == CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS ? driver().current().open(*address, handle)
                                                    : CUDA_ERROR_INVALID_VALUE);
}
// Does not wait: the caller has to know that the memory is no longer used.
CUresult cuIpcCloseMemHandle(CUdeviceptr address) { ENTRY(driver().current().close(address)); }

// ---- copies ----

CUresult cuMemcpyHtoDAsync(CUdeviceptr to, const void* from, std::size_t bytes, CUstream stream) {
  ENTRY(queue_if(held(to, bytes), stream, "copy", [=] { std::memcpy(at(to), from, bytes); }));
}
CUresult cuMemcpyDtoHAsync(void* to, CUdeviceptr from, std::size_t bytes, CUstream stream) {
  ENTRY(queue_if(held(from, bytes), stream, "copy", [=] { std::memcpy(to, at(from), bytes); }));
}
CUresult cuMemcpyDtoDAsync(CUdeviceptr to, CUdeviceptr from, std::size_t bytes, CUstream stream) {
  ENTRY(queue_if(held(to, bytes) && held(from, bytes), stream, "copy",
                 [=] { std::memmove(at(to), at(from), bytes); }));
}
CUresult cuMemcpy2DAsync(const CUDA_MEMCPY2D* copy, CUstream stream) {
  const CUDA_MEMCPY2D& c = *copy;
  ENTRY(queue_if(c.srcMemoryType == CU_MEMORYTYPE_DEVICE &&
                     c.dstMemoryType == CU_MEMORYTYPE_DEVICE &&
                     rows_held(c.dstDevice, c.dstPitch, c.WidthInBytes, c.Height) &&
                     rows_held(c.srcDevice, c.srcPitch, c.WidthInBytes, c.Height),
                 stream, "copy",
                 copied_rows(at(c.dstDevice), c.dstPitch, at(c.srcDevice), c.srcPitch,
                             c.WidthInBytes, c.Height)));
}
CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, std::size_t bytes, CUstream stream) {
  ENTRY(queue_if(held(to, bytes), stream, "memset", [=] { std::memset(at(to), value, bytes); }));
}
CUresult cuMemsetD2D8Async(CUdeviceptr to, std::size_t pitch, unsigned char value,
                           std::size_t width, std::size_t height, CUstream stream) {
  ENTRY(queue_if(rows_held(to, pitch, width, height), stream, "memset",
                 set_rows(to, pitch, value, width, height)));
}

// ---- streams and events ----

CUresult cuStreamCreateWithPriority(CUstream* stream, unsigned flags, int /*priority*/) {
  ENTER();
  Stream& made = driver().add_stream((flags & CU_STREAM_NON_BLOCKING) == 0);
  return set(*stream, reinterpret_cast<CUstream>(&made));
}
CUresult cuStreamDestroy(CUstream stream) {
  ENTER();
  driver().remove(driver().stream(stream));
  return CUDA_SUCCESS;
}
CUresult cuStreamQuery(CUstream stream) {
  ENTRY(state_of(driver().queues().last(driver().stream(stream))));
}
CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned /*flags*/) {
  ENTRY(driver().queue(stream, "wait", [] {}, driver().recorded(*event_of(event))));
}
CUresult cuStreamWriteValue32(CUstream stream, CUdeviceptr address, cuuint32_t value,
                              unsigned /*flags*/) {
  ENTRY(driver().queue(stream, "write", [=] {
    std::atomic_ref(*reinterpret_cast<cuuint32_t*>(address))
        .store(value, std::memory_order_release);
  }));
}
CUresult cuLaunchHostFunc(CUstream stream, CUhostFn function, void* data) {
  ENTRY(driver().queue(stream, "host", [=] { function(data); }));
}
CUresult cuEventCreate(CUevent* event, unsigned flags) {
  ENTER();
  auto made = std::make_unique<std::shared_ptr<Event>>(std::make_shared<Event>());
  (*made)->timed = (flags & CU_EVENT_DISABLE_TIMING) == 0;
  return set(*event, reinterpret_cast<CUevent>(made.release()));
}
CUresult cuEventDestroy(CUevent event) {
  ENTER();
  const std::unique_ptr<std::shared_ptr<Event>> removed(&event_of(event));
  return CUDA_SUCCESS;
}
CUresult cuEventRecord(CUevent event, CUstream stream) {
  ENTRY(driver().record(event_of(event), stream));
}
CUresult cuEventQuery(CUevent event) { ENTRY(state_of(driver().recorded(*event_of(event)))); }
CUresult cuEventSynchronize(CUevent event) {
  ENTER();
  driver().queues().wait(driver().recorded(*event_of(event)));
  return driver().queues().failure();
}
CUresult cuEventElapsedTime(float* milliseconds, CUevent first, CUevent second) {
  ENTER();
  const Event& begin = *event_of(first);
  const Event& end = *event_of(second);
  const Work began = driver().recorded(begin);
  const Work ended = driver().recorded(end);
  if (!begin.timed || !end.timed || !began || !ended) return CUDA_ERROR_INVALID_HANDLE;
  if (!driver().queues().done(began) || !driver().queues().done(ended)) return CUDA_ERROR_NOT_READY;
  return set(*milliseconds,
             std::chrono::duration<float, std::milli>(end.time - begin.time).count());
}

// ---- libraries and kernels ----

CUresult cuLibraryLoadData(CUlibrary* library, const void* code, CUjit_option* /*options*/,
                           void** /*values*/, unsigned /*count*/,
                           CUlibraryOption* /*library_options*/, void** /*values*/,
                           unsigned /*count*/) {
  ENTER();
  std::uint32_t magic = 0;
  std::memcpy(&magic, code, sizeof magic);
  if (magic != gpucast::remote::images::container_magic) return CUDA_ERROR_INVALID_IMAGE;
  *library = driver().settings().any_kernel
                 ? reinterpret_cast<CUlibrary>(driver().add_image(code))
                 : reinterpret_cast<CUlibrary>(&the_driver());  // all streams behave the same
  return CUDA_SUCCESS;
}
CUresult cuLibraryUnload(CUlibrary /*library*/) { ENTRY(CUDA_SUCCESS); }
CUresult cuLibraryGetKernel(CUkernel* kernel, CUlibrary library, const char* name) {
  ENTER();
  const Kernel* known = driver().kernel(name);
  if (known == nullptr && driver().settings().any_kernel) {
    known = driver().silent_kernel(
        *reinterpret_cast<gpucast::remote::images::KernelParameters*>(library), name);
  }
  *kernel = reinterpret_cast<CUkernel>(const_cast<Kernel*>(known));
  return known == nullptr ? CUDA_ERROR_NOT_FOUND : CUDA_SUCCESS;
}
CUresult cuLibraryGetGlobal(CUdeviceptr* address, std::size_t* bytes, CUlibrary /*library*/,
                            const char* name) {
  ENTER();
  const auto* variable = driver().variable(name);
  if (variable == nullptr) return CUDA_ERROR_NOT_FOUND;
  *address = reinterpret_cast<CUdeviceptr>(variable->data);
  return set(*bytes, variable->bytes);
}
CUresult cuKernelGetFunction(CUfunction* function, CUkernel kernel) {
  ENTRY(set(*function, reinterpret_cast<CUfunction>(kernel)));
}
CUresult cuKernelGetParamInfo(CUkernel kernel, std::size_t index, std::size_t* offset,
                              std::size_t* bytes) {
  ENTER();
  const auto& parameters = reinterpret_cast<const Kernel*>(kernel)->parameters;
  if (index >= parameters.size()) return CUDA_ERROR_INVALID_VALUE;
  *offset = parameters[index].offset;
  if (bytes != nullptr) *bytes = parameters[index].bytes;
  return CUDA_SUCCESS;
}
CUresult cuFuncGetAttribute(int* value, CUfunction_attribute which, CUfunction function) {
  ENTER();
  static const std::map<CUfunction_attribute, int> usual = {
      {CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 1024},
      {CU_FUNC_ATTRIBUTE_NUM_REGS, 32},
      {CU_FUNC_ATTRIBUTE_PTX_VERSION, 90},
      {CU_FUNC_ATTRIBUTE_BINARY_VERSION, 90}};
  if (const auto told = attributes_set().find({function, which}); told != attributes_set().end())
    return set(*value, told->second);
  const auto known = usual.find(which);
  return set(*value, known == usual.end() ? 0 : known->second);
}
CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute which, int value) {
  ENTER();
  const bool settable = which == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES ||
                        which == CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT;
  if (!settable || value > most_shared) return CUDA_ERROR_INVALID_VALUE;
  return set(attributes_set()[{function, which}], value);
}
CUresult cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, CUfunction /*function*/,
                                                              int block, std::size_t /*shared*/,
                                                              unsigned /*flags*/) {
  ENTER();
  if (block <= 0) return CUDA_ERROR_INVALID_VALUE;
  constexpr int threads = 2048;
  return set(*blocks, threads / block);
}

// The arguments are read now, as in a real launch.
CUresult cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction function, void** arguments,
                          void** extra) {
  ENTER();
  const auto shape = shape_of(*config);
  if (extra != nullptr || !shape) return CUDA_ERROR_INVALID_VALUE;
  return driver().queue(config->hStream, "kernel", launch_of(function, *shape, arguments));
}

// ---- graphs ----

CUresult cuGraphCreate(CUgraph* graph, unsigned /*flags*/) {
  ENTRY(set(*graph, reinterpret_cast<CUgraph>(std::make_unique<Nodes>().release())));
}
CUresult cuGraphDestroy(CUgraph graph) {
  ENTER();
  const std::unique_ptr<Nodes> removed(&nodes_of(graph));
  return CUDA_SUCCESS;
}
CUresult cuGraphAddEmptyNode(CUgraphNode* made, CUgraph graph, const CUgraphNode* after,
                             std::size_t count) {
  ENTRY(add_node(made, graph, after, count, GraphNode()));
}
CUresult cuGraphAddKernelNode(CUgraphNode* made, CUgraph graph, const CUgraphNode* after,
                              std::size_t count, const CUDA_KERNEL_NODE_PARAMS* what) {
  ENTRY(add_node(made, graph, after, count, node_of(*what)));
}
CUresult cuGraphAddMemcpyNode(CUgraphNode* made, CUgraph graph, const CUgraphNode* after,
                              std::size_t count, const CUDA_MEMCPY3D* what, CUcontext context) {
  ENTRY(context != nullptr ? add_node(made, graph, after, count, node_of(*what))
                           : CUDA_ERROR_INVALID_VALUE);
}
CUresult cuGraphAddMemsetNode(CUgraphNode* made, CUgraph graph, const CUgraphNode* after,
                              std::size_t count, const CUDA_MEMSET_NODE_PARAMS* what,
                              CUcontext context) {
  ENTRY(context != nullptr ? add_node(made, graph, after, count, node_of(*what))
                           : CUDA_ERROR_INVALID_VALUE);
}
CUresult cuGraphKernelNodeSetAttribute(CUgraphNode /*node*/, CUkernelNodeAttrID /*which*/,
                                       const CUkernelNodeAttrValue* /*value*/) {
  ENTRY(CUDA_SUCCESS);
}
CUresult cuGraphInstantiate(CUgraphExec* made, CUgraph graph, unsigned long long /*flags*/) {
  ENTRY(set(*made,
            reinterpret_cast<CUgraphExec>(std::make_unique<Nodes>(nodes_of(graph)).release())));
}
CUresult cuGraphExecDestroy(CUgraphExec exec) {
  ENTER();
  const std::unique_ptr<Nodes> removed(&nodes_of(exec));
  return CUDA_SUCCESS;
}
CUresult cuGraphExecKernelNodeSetParams(CUgraphExec exec, CUgraphNode which,
                                        const CUDA_KERNEL_NODE_PARAMS* what) {
  ENTRY(set_node(exec, which, node_of(*what)));
}
CUresult cuGraphExecMemcpyNodeSetParams(CUgraphExec exec, CUgraphNode which,
                                        const CUDA_MEMCPY3D* what, CUcontext /*context*/) {
  ENTRY(set_node(exec, which, node_of(*what)));
}
CUresult cuGraphExecMemsetNodeSetParams(CUgraphExec exec, CUgraphNode which,
                                        const CUDA_MEMSET_NODE_PARAMS* what,
                                        CUcontext /*context*/) {
  ENTRY(set_node(exec, which, node_of(*what)));
}
CUresult cuGraphLaunch(CUgraphExec exec, CUstream stream) {
  ENTER();
  return driver().queue(stream, "graph", [nodes = nodes_of(exec)] {
    for (const GraphNode& node : nodes) {
      driver().pause(node.kind);
      node.work();
    }
  });
}

}  // extern "C"

#pragma GCC visibility pop
