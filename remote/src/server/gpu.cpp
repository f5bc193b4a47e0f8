#include "server/gpu.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace gpucast::remote {

Gpu::Gpu(const std::string& library, int device, std::uint64_t most_memory,
         const std::optional<HostKey>& key)
    : driver_(library), ordinal_(device), most_memory_(most_memory), peers_(driver_, key) {
  initialize(device);
  streams_[legacy_stream] = {.handle = CU_STREAM_LEGACY};
}

void Gpu::initialize(int device) {
  const auto require = [this](CUresult status, const char* call) {
    if (status != CUDA_SUCCESS) {
      throw DriverError(status, std::string(call) + ": " + driver_.text(status));
    }
  };
  require(driver_.cuInit(0), "cuInit");
  int count = 0;
  require(driver_.cuDeviceGetCount(&count), "cuDeviceGetCount");
  if (device >= count) {
    throw DriverError(CUDA_ERROR_INVALID_DEVICE, "GPU " + std::to_string(device) +
                                                     " is served, but the machine has " +
                                                     std::to_string(count));
  }
  require(driver_.cuDeviceGet(&device_, device), "cuDeviceGet");
  require(driver_.cuDevicePrimaryCtxRetain(&context_, device_), "cuDevicePrimaryCtxRetain");
  require(driver_.cuCtxSetCurrent(context_), "cuCtxSetCurrent");
}

void Gpu::use_in_this_thread() const { driver_.cuCtxSetCurrent(context_); }

DeviceInfo Gpu::describe() const {
  DeviceInfo info;
  std::array<char, 256> text{};
  driver_.cuDeviceGetName(text.data(), static_cast<int>(text.size()) - 1, device_);
  info.name = text.data();
  text.fill(0);
  driver_.cuDeviceGetPCIBusId(text.data(), static_cast<int>(text.size()) - 1, device_);
  info.pci = text.data();
  text.fill(0);
  gethostname(text.data(), text.size() - 1);
  info.host = text.data();
  CUuuid uuid{};
  driver_.cuDeviceGetUuid(&uuid, device_);
  std::copy_n(reinterpret_cast<const std::uint8_t*>(uuid.bytes), info.uuid.size(),
              info.uuid.begin());
  info.group = peers_.group();
  std::size_t bytes = 0;
  driver_.cuDeviceTotalMem(&bytes, device_);
  info.memory = bytes;
  driver_.cuDriverGetVersion(&info.driver_version);
  info.attributes.resize(CU_DEVICE_ATTRIBUTE_MAX);
  for (std::size_t k = 1; k < info.attributes.size(); ++k) {
    int value = 0;
    if (driver_.cuDeviceGetAttribute(&value, static_cast<CUdevice_attribute>(k), device_) ==
        CUDA_SUCCESS) {
      info.attributes[k] = value;
    }
  }
  return info;
}

// ---- streams and events ----

CUstream Gpu::stream(Id id) {
  const auto found = streams_.find(id);
  if (found == streams_.end()) throw DriverError(CUDA_ERROR_INVALID_HANDLE, "no such stream");
  Stream& stream = found->second;
  if (stream.fences_seen != fences_) {
    if (id != fenced_stream_) driver_.cuStreamWaitEvent(stream.handle, fence_->get(), 0);
    stream.fences_seen = fences_;
  }
  return stream.handle;
}

void Gpu::fence(Id id) {
  auto* const handle = stream(id);
  // Streams that wait for the last one go on doing so when its event is recorded again.
  if (fence_) give_back(std::move(fence_));
  fence_ = record(handle);
  fenced_stream_ = id;
  ++fences_;
  streams_[id].fences_seen = fences_;
}

std::shared_ptr<Event> Gpu::event(Id id) const {
  const auto found = events_.find(id);
  if (found == events_.end()) throw DriverError(CUDA_ERROR_INVALID_HANDLE, "no such event");
  return found->second;
}

std::shared_ptr<Event> Gpu::record(CUstream stream) {
  std::shared_ptr<Event> event;
  if (idle_events_.empty()) {
    event = std::make_shared<Event>(driver_, CU_EVENT_DISABLE_TIMING);
  } else {
    event = std::move(idle_events_.back());
    idle_events_.pop_back();
  }
  if (const CUresult status = driver_.cuEventRecord(event->get(), stream); status != CUDA_SUCCESS) {
    throw DriverError(status, "cuEventRecord");
  }
  return event;
}

void Gpu::give_back(std::shared_ptr<Event> event) {
  // Those of the program, and a fence, have another owner.
  if (event.use_count() == 1) idle_events_.push_back(std::move(event));
}

std::vector<std::shared_ptr<Event>> Gpu::record_all() {
  std::vector<std::shared_ptr<Event>> result;
  result.reserve(streams_.size());
  for (const auto& [id, stream] : streams_)
    result.push_back(record(stream.handle));
  return result;
}

CUresult Gpu::run(const StreamCreate& call, Nothing& /*result*/) {
  if (call.stream < first_id || streams_.contains(call.stream)) return CUDA_ERROR_INVALID_HANDLE;
  CUstream handle = nullptr;
  const CUresult status = driver_.cuStreamCreateWithPriority(&handle, call.flags, call.priority);
  if (status == CUDA_SUCCESS) streams_[call.stream] = {.handle = handle};
  return status;
}

CUresult Gpu::run(const StreamDestroy& call, Nothing& /*result*/) {
  if (call.stream < first_id) return CUDA_ERROR_INVALID_HANDLE;
  auto* const handle = stream(call.stream);
  streams_.erase(call.stream);
  return driver_.cuStreamDestroy(handle);
}

CUresult Gpu::run(const StreamQuery& call, Nothing& /*result*/) {
  return driver_.cuStreamQuery(stream(call.stream));
}

CUresult Gpu::run(const StreamWaitEvent& call, Nothing& /*result*/) {
  return driver_.cuStreamWaitEvent(stream(call.stream), event(call.event)->get(), call.flags);
}

CUresult Gpu::run(const EventCreate& call, Nothing& /*result*/) {
  if (events_.contains(call.event)) return CUDA_ERROR_INVALID_HANDLE;
  events_[call.event] = std::make_shared<Event>(driver_, call.flags);
  return CUDA_SUCCESS;
}

CUresult Gpu::run(const EventDestroy& call, Nothing& /*result*/) {
  return events_.erase(call.event) == 1 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult Gpu::run(const EventRecord& call, Nothing& /*result*/) {
  return driver_.cuEventRecord(event(call.event)->get(), stream(call.stream));
}

CUresult Gpu::run(const EventQuery& call, Nothing& /*result*/) const {
  return driver_.cuEventQuery(event(call.event)->get());
}

CUresult Gpu::run(const EventElapsed& call, Elapsed& result) const {
  float milliseconds = 0;
  const CUresult status =
      driver_.elapsed(&milliseconds, event(call.pair.begin)->get(), event(call.pair.end)->get());
  result.milliseconds = {milliseconds};
  return status;
}

Elapsed Gpu::elapsed(const std::vector<EventPair>& pairs) const {
  Elapsed result;
  for (const EventPair& pair : pairs) {
    float milliseconds = 0;
    const auto begin = events_.find(pair.begin);
    const auto end = events_.find(pair.end);
    const bool known =
        begin != events_.end() && end != events_.end() &&
        driver_.elapsed(&milliseconds, begin->second->get(), end->second->get()) == CUDA_SUCCESS;
    result.milliseconds.push_back(known ? milliseconds : std::numeric_limits<float>::quiet_NaN());
  }
  return result;
}

// ---- memory ----

CUresult Gpu::run(const Reset& /*call*/, Nothing& /*result*/) {
  const CUresult status = driver_.cuCtxSynchronize();
  fence_.reset();
  // Nor do streams that come have anything to wait for.
  fences_ = 0;
  events_.clear();
  for (const auto& [id, stream] : streams_) {
    if (id >= first_id) driver_.cuStreamDestroy(stream.handle);
  }
  streams_ = {{legacy_stream, {.handle = CU_STREAM_LEGACY}}};
  kernels_.clear();
  for (const auto& [id, module] : modules_) {
    if (module.library != nullptr) driver_.cuLibraryUnload(module.library);
  }
  modules_.clear();
  peers_.detach_all();
  for (const auto& [address, allocation] : allocations_)
    free(address, allocation);
  allocations_.clear();
  used_memory_ = 0;
  return status;
}

CUresult Gpu::run(const MemAlloc& call, Allocated& result) {
  if (call.bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  if (most_memory_ != 0 && call.bytes > most_memory_ - std::min(most_memory_, used_memory_)) {
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  Allocation allocation{.bytes = call.bytes, .placed = call.at != 0};
  CUdeviceptr address = call.at;
  const CUresult status =
      call.at != 0 ? allocate_at(call, allocation) : driver_.cuMemAlloc(&address, call.bytes);
  if (status != CUDA_SUCCESS) return status;
  allocations_[address] = allocation;
  used_memory_ += allocation.bytes;
  result.address = address;
  return CUDA_SUCCESS;
}

CUresult Gpu::allocate_at(const MemAlloc& call, Allocation& allocation) const {
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

CUresult Gpu::run(const MemFree& call, Nothing& /*result*/) {
  const auto found = allocations_.find(call.address);
  if (found == allocations_.end()) return CUDA_ERROR_INVALID_VALUE;
  const Allocation allocation = found->second;
  allocations_.erase(found);
  used_memory_ -= allocation.bytes;
  return free(call.address, allocation);
}

CUresult Gpu::free(Address address, const Allocation& allocation) const {
  if (!allocation.placed) return driver_.cuMemFree(address);
  // As cuMemFree does, which this kind of memory has not.
  CUresult status = driver_.cuCtxSynchronize();
  for (const CUresult next :
       {driver_.cuMemUnmap(address, allocation.bytes), driver_.cuMemRelease(allocation.handle),
        driver_.cuMemAddressFree(address, allocation.bytes)}) {
    if (status == CUDA_SUCCESS) status = next;
  }
  return status;
}

CUresult Gpu::run(const MemInfo& /*call*/, MemAmounts& result) const {
  std::size_t free = 0;
  std::size_t total = 0;
  const CUresult status = driver_.cuMemGetInfo(&free, &total);
  result = {.free = free, .total = total};
  if (most_memory_ != 0) {
    result.total = std::min<std::uint64_t>(total, most_memory_);
    result.free =
        std::min<std::uint64_t>(free, most_memory_ - std::min(most_memory_, used_memory_));
  }
  return status;
}

CUresult Gpu::run(const Memset& call, Nothing& /*result*/) {
  auto* const on = stream(call.stream);
  const CUresult status =
      call.height == 1
          ? driver_.cuMemsetD8Async(call.to, call.value, call.width, on)
          : driver_.cuMemsetD2D8Async(call.to, call.pitch, call.value, call.width, call.height, on);
  if (status == CUDA_SUCCESS && call.fence != 0) fence(call.stream);
  return status;
}

CUresult Gpu::run(const CopyWithin& call, Nothing& /*result*/) {
  auto* const on = stream(call.stream);
  const CUresult status = call.height == 1
                              ? driver_.cuMemcpyDtoDAsync(call.to, call.from, call.width, on)
                              : copy_rows(call, on);
  if (status == CUDA_SUCCESS && call.fence != 0) fence(call.stream);
  return status;
}

CUresult Gpu::copy_rows(const CopyWithin& call, CUstream on) const {
  CUDA_MEMCPY2D copy{};  // NOLINT(bugprone-invalid-enum-default-initialization): set below
  copy.srcMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.srcDevice = call.from;
  copy.srcPitch = call.from_pitch;
  copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.dstDevice = call.to;
  copy.dstPitch = call.to_pitch;
  copy.WidthInBytes = call.width;
  copy.Height = call.height;
  return driver_.cuMemcpy2DAsync(&copy, on);
}

// ---- memory that several servers of one host use ----

// cuIpc* knows no memory that was placed: cuMemCreate has handles of another kind.
CUresult Gpu::run(const Share& call, Shared& result) const {
  auto found = allocations_.upper_bound(call.address);
  if (found == allocations_.begin()) return CUDA_ERROR_INVALID_VALUE;
  const auto& [begin, allocation] = *--found;
  if (call.address - begin >= allocation.bytes || allocation.placed)
    return CUDA_ERROR_INVALID_VALUE;
  return peers_.share(begin, allocation.bytes, result);
}

CUresult Gpu::run(const Attach& call, Attached& result) { return peers_.attach(call, result); }

// Streams that were destroyed may have left work behind.
CUresult Gpu::run(const Detach& call, Nothing& /*result*/) {
  driver_.cuCtxSynchronize();
  return peers_.detach(call.id);
}

// ---- modules and kernels ----

CUresult Gpu::run(const ModulePiece& call, Bytes piece) {
  Module& module = modules_[call.module];
  if (module.library != nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (piece.size() > most_module - module.image.size()) return CUDA_ERROR_OUT_OF_MEMORY;
  module.image.insert(module.image.end(), piece.begin(), piece.end());
  return CUDA_SUCCESS;
}

CUresult Gpu::run(const ModuleLoad& call, Nothing& /*result*/) {
  const auto found = modules_.find(call.module);
  if (found == modules_.end() || found->second.library != nullptr) return CUDA_ERROR_INVALID_HANDLE;
  Module& module = found->second;
  // The image stays: the driver may read it when kernels are first used.
  return driver_.cuLibraryLoadData(&module.library, module.image.data(), nullptr, nullptr, 0,
                                   nullptr, nullptr, 0);
}

std::vector<Parameter> Gpu::parameters_of(CUkernel kernel, Status& status) const {
  std::vector<Parameter> result;
  if (driver_.cuKernelGetParamInfo == nullptr) {
    status = CUDA_ERROR_NOT_SUPPORTED;
    return result;
  }
  for (std::size_t k = 0; k < most_parameters; ++k) {
    std::size_t offset = 0;
    std::size_t bytes = 0;
    const CUresult got = driver_.cuKernelGetParamInfo(kernel, k, &offset, &bytes);
    if (got == CUDA_ERROR_INVALID_VALUE) break;  // no more
    if (got != CUDA_SUCCESS) {
      status = got;
      break;
    }
    result.push_back(
        {.offset = static_cast<std::uint32_t>(offset), .bytes = static_cast<std::uint32_t>(bytes)});
  }
  return result;
}

CUresult Gpu::run(const ModuleKernels& call, Kernels& result) {
  const auto found = modules_.find(call.module);
  if (found == modules_.end() || found->second.library == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  for (std::size_t k = 0; k < call.names.size(); ++k) {
    Kernel told;
    KernelOfModule entry{.module = call.module};
    told.status =
        driver_.cuLibraryGetKernel(&entry.kernel, found->second.library, call.names[k].c_str());
    if (told.status == CUDA_SUCCESS) {
      told.parameters = parameters_of(entry.kernel, told.status);
      entry.parameters = told.parameters;
      for (const Parameter& each : told.parameters)
        entry.argument_bytes =
            std::max<std::size_t>(entry.argument_bytes, std::size_t{each.offset} + each.bytes);
      kernels_[call.first + k] = std::move(entry);
    }
    result.kernels.push_back(std::move(told));
  }
  return CUDA_SUCCESS;
}

CUresult Gpu::run(const ModuleGlobal& call, Global& result) {
  const auto found = modules_.find(call.module);
  if (found == modules_.end() || found->second.library == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  CUdeviceptr address = 0;
  std::size_t bytes = 0;
  const CUresult status =
      driver_.cuLibraryGetGlobal(&address, &bytes, found->second.library, call.name.c_str());
  result = {.address = address, .bytes = bytes};
  return status;
}

CUresult Gpu::run(const ModuleUnload& call, Nothing& /*result*/) {
  const auto found = modules_.find(call.module);
  if (found == modules_.end()) return CUDA_ERROR_INVALID_HANDLE;
  auto* const library = found->second.library;
  std::erase_if(kernels_, [&](const auto& entry) { return entry.second.module == call.module; });
  const CUresult status = library == nullptr ? CUDA_SUCCESS : driver_.cuLibraryUnload(library);
  modules_.erase(found);
  return status;
}

Gpu::KernelOfModule& Gpu::kernel(Id id) {
  const auto found = kernels_.find(id);
  if (found == kernels_.end()) throw DriverError(CUDA_ERROR_INVALID_HANDLE, "no such kernel");
  KernelOfModule& kernel = found->second;
  if (kernel.function == nullptr) {
    const CUresult status = driver_.cuKernelGetFunction(&kernel.function, kernel.kernel);
    if (status != CUDA_SUCCESS) throw DriverError(status, "cuKernelGetFunction");
  }
  return kernel;
}

CUresult Gpu::run(const Launch& call, Nothing& /*result*/) {
  KernelOfModule& what = kernel(call.kernel);
  if (call.arguments.size() != what.argument_bytes) return CUDA_ERROR_INVALID_VALUE;
  // Aligned as the parameters may ask for.
  alignas(128) std::array<std::byte, most_argument_bytes> arguments;  // NOLINT: filled where used
  std::ranges::copy(call.arguments, arguments.begin());
  std::vector<void*> pointers;
  pointers.reserve(what.parameters.size());
  for (const Parameter& each : what.parameters)
    pointers.push_back(arguments.data() + each.offset);
  std::array<CUlaunchAttribute, 2> attributes{};
  CUlaunchConfig config{};
  config.gridDimX = call.grid[0];
  config.gridDimY = call.grid[1];
  config.gridDimZ = call.grid[2];
  config.blockDimX = call.block[0];
  config.blockDimY = call.block[1];
  config.blockDimZ = call.block[2];
  config.sharedMemBytes = call.shared;
  config.hStream = stream(call.stream);
  config.attrs = attributes.data();
  if (call.cluster[0] != 0) {
    CUlaunchAttribute& attribute = attributes.at(config.numAttrs++);
    attribute.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
    attribute.value.clusterDim.x = call.cluster[0];
    attribute.value.clusterDim.y = call.cluster[1];
    attribute.value.clusterDim.z = call.cluster[2];
  }
  if (call.cooperative != 0) {
    CUlaunchAttribute& attribute = attributes.at(config.numAttrs++);
    attribute.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
    attribute.value.cooperative = 1;
  }
  return driver_.cuLaunchKernelEx(&config, what.function, pointers.data(), nullptr);
}

CUresult Gpu::run(const FunctionAttributes& call, Values& result) {
  auto* const function = kernel(call.kernel).function;
  for (int k = 0; k < CU_FUNC_ATTRIBUTE_MAX; ++k) {
    int value = 0;
    const CUresult status =
        driver_.cuFuncGetAttribute(&value, static_cast<CUfunction_attribute>(k), function);
    if (status != CUDA_SUCCESS && k <= CU_FUNC_ATTRIBUTE_BINARY_VERSION) return status;
    result.values.push_back(status == CUDA_SUCCESS ? value : 0);
  }
  return CUDA_SUCCESS;
}

CUresult Gpu::run(const FunctionSetAttribute& call, Nothing& /*result*/) {
  return driver_.cuFuncSetAttribute(kernel(call.kernel).function,
                                    static_cast<CUfunction_attribute>(call.attribute), call.value);
}

CUresult Gpu::run(const Occupancy& call, Blocks& result) {
  return driver_.cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
      &result.blocks, kernel(call.kernel).function, call.block, call.shared, call.flags);
}

}  // namespace gpucast::remote
