#include "server/driver.h"

#include <dlfcn.h>

namespace gpucast::remote::server {
namespace {

void* open_library(const std::string& file) {
  void* library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) throw std::runtime_error(std::string("no CUDA driver: ") + dlerror());
  return library;
}

template <class Function>
bool find(void* library, Function& function, const char* name) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  return function != nullptr;
}

}  // namespace

#define GPUCAST_TEXT_OF(name) #name
#define GPUCAST_TEXT(name) GPUCAST_TEXT_OF(name)

Driver::Driver(const std::string& file) : library_(open_library(file)) {
  std::string missing;
#define GPUCAST_DRIVER_FUNCTION(name) \
  if (!find(library_, name, GPUCAST_TEXT(name)) && missing.empty()) missing = GPUCAST_TEXT(name);
#include "server/driver_functions.inc"
#undef GPUCAST_DRIVER_FUNCTION
  if (!missing.empty()) throw std::runtime_error("the CUDA driver is too old: it lacks " + missing);
#define GPUCAST_TRY(name) find(library_, name, GPUCAST_TEXT(name));
  GPUCAST_DRIVER_OPTIONS(GPUCAST_TRY)
#undef GPUCAST_TRY
  if (!find(library_, elapsed, "cuEventElapsedTime_v2") &&
      !find(library_, elapsed, "cuEventElapsedTime")) {
    throw std::runtime_error("the CUDA driver lacks cuEventElapsedTime");
  }
}

void Driver::require(CUresult status, const char* call) const {
  if (status == CUDA_SUCCESS) return;
  const char* text = nullptr;
  const bool known = this->cuGetErrorString(status, &text) == CUDA_SUCCESS && text != nullptr;
  throw DriverError(status,
                    std::string(call) + ": " + (known ? text : "error " + std::to_string(status)));
}

int Driver::initialize() const {
  require(this->cuInit(0), "cuInit");
  int count = 0;
  require(this->cuDeviceGetCount(&count), "cuDeviceGetCount");
  return count;
}

}  // namespace gpucast::remote::server
