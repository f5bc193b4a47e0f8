// A CUDA driver that refuses to compute: libcuda.so.1 beside the client.
//
// Every CUDA runtime, whether shared, static or part of a library (cuBLAS, cuFFT, PyTorch's own),
// reaches the GPU by opening libcuda.so.1. The loader finds this file before the machine's driver,
// either by LD_LIBRARY_PATH or because the client or LD_PRELOAD has loaded it already. The first
// call of the driver, by any library, then ends the program.
//
// NVML opens the driver, too, to read its version: it never computes, and gets the answer that
// there is no GPU.
//
// This library is loaded into every process that a program starts, and needs no library but the
// system's.
#include <dlfcn.h>

#include <atomic>
#include <cerrno>
#include <cstring>

#include "end_program.h"

namespace gpucast::remote {
namespace {

constexpr const char* driver = "libcuda.so";
constexpr const char* management = "libnvidia-ml.so";

const char* file_of(const void* address) {
  Dl_info info;
  const bool known = ::dladdr(address, &info) != 0 && info.dli_fname != nullptr;
  return known && *info.dli_fname != '\0' ? info.dli_fname : "code of no library";
}

// Whether the last part of a path begins with these letters, whatever its folder and version.
bool names(const char* file, const char* name) noexcept {
  const char* const slash = std::strrchr(file, '/');
  return std::strncmp(slash == nullptr ? file : slash + 1, name, std::strlen(name)) == 0;
}

// Ends the program, unless NVML calls: that gets CUDA_ERROR_NO_DEVICE. `caller`: the return
// address.
int refuse(const void* caller) noexcept {
  constexpr int no_device = 100;
  if (names(file_of(caller), management)) return no_device;
  constexpr int most = 8192;
  char line[most];  // NOLINT(modernize-avoid-c-arrays): without the C++ library
  std::snprintf(line, sizeof line,
                "%s: %s calls the CUDA driver itself, past the remote GPUs, and would compute on a "
                "GPU of this machine: cuBLAS, cuFFT, PyTorch and all that bring a CUDA runtime of "
                "their own do not run over remote GPUs (gpucast remote run --allow-local-cuda lets "
                "them use this machine's)",
                program_invocation_name, file_of(caller));
  end_program(line);
}

// The path of this library.
const char* own_file() { return file_of(reinterpret_cast<const void*>(&own_file)); }

// Returns the C library's function of the same name as one defined here.
template <class Function>
Function* next(std::atomic<Function*>& known, const char* name) noexcept {
  Function* result = known.load(std::memory_order_relaxed);
  if (result == nullptr) {
    result = reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
    known.store(result, std::memory_order_relaxed);
  }
  return result;
}

std::atomic<void* (*)(const char*, int) noexcept> next_dlopen;
std::atomic<void* (*)(Lmid_t, const char*, int) noexcept> next_dlmopen;

}  // namespace
}  // namespace gpucast::remote

using namespace gpucast::remote;

#define GPUCAST_EXPORTED extern "C" __attribute__((visibility("default")))

#define GPUCAST_DRIVER_CALL(name) \
  GPUCAST_EXPORTED int name() { return refuse(__builtin_return_address(0)); }
#include "guard/driver_calls.inc"  // generated from CUDA's headers (CMakeLists.txt)

// Tells callers that look for a driver that this is the guard.
GPUCAST_EXPORTED int gpucast_remote_guard() { return 1; }

// Where LD_PRELOAD names this library, opening the machine's driver by its path is intercepted,
// too. The C library's functions are tail calls, since they look at their caller.
GPUCAST_EXPORTED void* dlopen(const char* file, int mode) noexcept {
  if (file != nullptr && names(file, driver)) file = own_file();
  return next(next_dlopen, "dlopen")(file, mode);
}
GPUCAST_EXPORTED void* dlmopen(Lmid_t space, const char* file, int mode) noexcept {
  if (file != nullptr && names(file, driver)) file = own_file();
  return next(next_dlmopen, "dlmopen")(space, file, mode);
}
