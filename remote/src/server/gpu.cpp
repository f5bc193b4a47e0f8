#include "server/gpu.h"

#include "protocol/ranges.h"

namespace gpucast::remote::server {
namespace {

constexpr std::size_t most_image_bytes = std::size_t{4} << 30;  // of all modules

}  // namespace

Gpu::Gpu(const std::string& library, int device, std::uint64_t most_memory,
         const std::optional<HostKey>& key, ImageCache* cache)
    : driver_(library),
      streams_(driver_),
      memory_(driver_, streams_, device, most_memory, key),
      modules_(driver_, streams_, most_image_bytes, cache),
      graphs_(driver_, streams_, modules_,
              {.require_held = [this](Address address,
                                      std::uint64_t bytes) { require_held(address, bytes); },
               .released = [this] { return memory_.released() + modules_.released(); }}) {
  initialize(device);
  graphs_.use(context_);
}

void Gpu::initialize(int device) {
  const int count = driver_.initialize();
  if (device >= count) {
    throw DriverError(CUDA_ERROR_INVALID_DEVICE, "GPU " + std::to_string(device) +
                                                     " is served, but the machine has " +
                                                     std::to_string(count));
  }
  driver_.require(driver_.cuDeviceGet(&device_, device), "cuDeviceGet");
  driver_.require(driver_.cuDevicePrimaryCtxRetain(&context_, device_), "cuDevicePrimaryCtxRetain");
  driver_.require(driver_.cuCtxSetCurrent(context_), "cuCtxSetCurrent");
}

void Gpu::use_in_this_thread() const { driver_.cuCtxSetCurrent(context_); }

DeviceInfo Gpu::describe() const {
  DeviceInfo info;
  const auto text_of = [](auto fill_in) {
    std::array<char, 256> text{};
    fill_in(text.data(), static_cast<int>(text.size()) - 1);
    return std::string(text.data());
  };
  info.name = text_of([&](char* text, int size) { driver_.cuDeviceGetName(text, size, device_); });
  info.pci =
      text_of([&](char* text, int size) { driver_.cuDeviceGetPCIBusId(text, size, device_); });
  info.host =
      text_of([](char* text, int size) { gethostname(text, static_cast<std::size_t>(size)); });
  CUuuid uuid{};
  driver_.cuDeviceGetUuid(&uuid, device_);
  std::copy_n(reinterpret_cast<const std::uint8_t*>(uuid.bytes), info.uuid.size(),
              info.uuid.begin());
  info.group = memory_.group();
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

void Gpu::require_held(Address address, std::uint64_t bytes) const {
  if (!memory_.holds(address, bytes) && !modules_.holds(address, bytes))
    throw DriverError(CUDA_ERROR_INVALID_VALUE);
}

void Gpu::run(const Reset& /*call*/) {
  const CUresult status = driver_.cuCtxSynchronize();
  graphs_.reset();
  streams_.reset();
  modules_.reset();
  memory_.reset();
  check(status);
}

// ---- calls without state ----

static CUlimit limit_of(std::int32_t asked) {
  return enumerator(asked, CU_LIMIT_STACK_SIZE, CU_LIMIT_PERSISTING_L2_CACHE_SIZE);
}

// Stacks and buffers of kernels take the GPU's memory, of which the client has a bounded share
// (--max-memory): a size beyond what is left of it is refused.
void answer(Gpu& gpu, const LimitSet& call) {
  const CUlimit limit = limit_of(call.limit);
  std::uint64_t most = gpu.run(MemInfo{}).free;
  if (limit == CU_LIMIT_STACK_SIZE) {
    const auto has = gpu.describe().attributes;
    const int threads = has.at(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT) *
                        has.at(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR);
    most /= static_cast<std::uint64_t>(std::max(threads, 1));
  }
  if (call.value > most) throw DriverError(CUDA_ERROR_OUT_OF_MEMORY);
  check(gpu.driver().cuCtxSetLimit(limit, call.value));
}

LimitValue answer(Gpu& gpu, const LimitGet& call) {
  std::size_t value = 0;
  check(gpu.driver().cuCtxGetLimit(&value, limit_of(call.limit)));
  return {.value = value};
}

void answer(Gpu& gpu, const Memset& call) {
  gpu.require_held(call.to, extent(call.pitch, call.width, call.height));
  const Driver& driver = gpu.driver();
  auto* const on = gpu.streams().stream(call.stream);
  check(call.height == 1 ? driver.cuMemsetD8Async(call.to, call.value, call.width, on)
                         : driver.cuMemsetD2D8Async(call.to, call.pitch, call.value, call.width,
                                                    call.height, on));
  if (call.fence != 0) gpu.streams().fence(call.stream);
}

void answer(Gpu& gpu, const CopyWithin& call) {
  gpu.require_held(call.to, extent(call.to_pitch, call.width, call.height));
  gpu.require_held(call.from, extent(call.from_pitch, call.width, call.height));
  const Driver& driver = gpu.driver();
  auto* const on = gpu.streams().stream(call.stream);
  const auto rows = with_rows<CUDA_MEMCPY2D>(call);
  check(call.height == 1 ? driver.cuMemcpyDtoDAsync(call.to, call.from, call.width, on)
                         : driver.cuMemcpy2DAsync(&rows, on));
  if (call.fence != 0) gpu.streams().fence(call.stream);
}

}  // namespace gpucast::remote::server
