#include "gpucast/devices/cuda/gpus.h"

#include <dlfcn.h>

#include <array>
#include <cstdlib>
#include <string_view>

#include "gpucast/devices/cuda/resources.h"

namespace gpucast::devices::cuda {
namespace {

// FP32 lanes of a multiprocessor, from the CUDA C++ Programming Guide's table of throughputs.
int lanes_per_sm(int major, int minor) {
  if (major == 8 && minor == 0) return 64;
  return major >= 8 ? 128 : 64;
}

std::string version(cudaError_t (*get)(int*), const char* call) {
  int number = 0;
  check(get(&number), call);
  return "CUDA " + std::to_string(number / 1000) + "." + std::to_string(number % 1000 / 10);
}

// If there is no driver, the runtime reports one that is too old.
std::string why(cudaError_t status) {
  int driver = 0;
  const bool missing = status == cudaErrorInsufficientDriver &&
                       (cudaDriverGetVersion(&driver) != cudaSuccess || driver == 0);
  return missing ? "this machine has no CUDA driver" : cudaGetErrorString(status);
}

bool are_remote() { return ::dlsym(RTLD_DEFAULT, "gpucast_remote_server") != nullptr; }

}  // namespace

int gpu_count(std::string& why_none) {
  // A user who asks for remote GPUs does not want this machine's; an empty variable counts, too.
  if (std::getenv("GPUCAST_REMOTE") != nullptr && !are_remote()) {
    why_none =
        "the CUDA runtime that runs here does not know remote GPUs: gpucast remote run "
        "starts programs with the one that does";
    return 0;
  }
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status != cudaSuccess) {
    why_none = why(status);
    return 0;
  }
  if (count == 0) why_none = "no CUDA device is visible";
  return count;
}

int attribute(cudaDeviceAttr which, int device) {
  int value = 0;
  check(cudaDeviceGetAttribute(&value, which, device), "cudaDeviceGetAttribute");
  return value;
}

records::Gpu describe(int device) {
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, device), "cudaGetDeviceProperties");
  std::array<char, 32> pci{};
  check(cudaDeviceGetPCIBusId(pci.data(), static_cast<int>(pci.size()), device),
        "cudaDeviceGetPCIBusId");
  constexpr double hertz_per_kilohertz = 1e3;
  return {
      .name = properties.name,
      .sms = properties.multiProcessorCount,
      .cores = properties.multiProcessorCount * lanes_per_sm(properties.major, properties.minor),
      .clock_hz = attribute(cudaDevAttrClockRate, device) * hertz_per_kilohertz,
      .memory_bytes = static_cast<std::int64_t>(properties.totalGlobalMem),
      .max_threads_per_sm = properties.maxThreadsPerMultiProcessor,
      .pci = pci.data()};
}

std::string driver_version() { return version(cudaDriverGetVersion, "cudaDriverGetVersion"); }

std::string runtime_version() { return version(cudaRuntimeGetVersion, "cudaRuntimeGetVersion"); }

schema::Path path() {
  if (!are_remote()) return schema::Path::native;
  const char* const sync = std::getenv("GPUCAST_REMOTE_SYNC");
  if (sync != nullptr && std::string_view(sync) == "1") return schema::Path::remote_sync;
  return remote_transport() == "shm" ? schema::Path::remote_shm : schema::Path::remote;
}

std::optional<std::string> remote_transport() {
  using Ask = const char* (*)(int device);
  const auto ask = reinterpret_cast<Ask>(::dlsym(RTLD_DEFAULT, "gpucast_remote_transport"));
  int count = 0;
  if (ask == nullptr || cudaGetDeviceCount(&count) != cudaSuccess) return std::nullopt;
  std::optional<std::string> result;
  for (int device = 0; device < count; ++device) {
    const char* const answer = ask(device);
    if (answer == nullptr || (result && *result != answer)) return std::nullopt;
    result = answer;
  }
  return result;
}

}  // namespace gpucast::devices::cuda
