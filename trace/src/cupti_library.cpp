#include "cupti_library.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>

namespace gpucast::trace {
namespace {

// Newest first. CUPTI 12.8 is the first version that links the waits for an event to its
// recordings, in the structs that compaction.cpp reads.
constexpr std::array sonames{"libcupti.so.13", "libcupti.so.12"};
constexpr std::uint32_t oldest = 26;
constexpr std::uint32_t first_unknown = 140000;

// Returns the file of a library.
std::string path_of(void* library) {
  const void* const symbol = dlsym(library, "cuptiGetVersion");
  Dl_info info;
  return symbol != nullptr && dladdr(symbol, &info) != 0 && info.dli_fname != nullptr
             ? info.dli_fname
             : "libcupti";
}

void* open_any(std::span<const std::string> candidates, std::span<const std::string> without) {
  const auto open = [&](const std::string& name, int flags) -> void* {
    void* const opened = dlopen(name.c_str(), flags);
    const bool wanted =
        opened != nullptr && std::ranges::find(without, path_of(opened)) == without.end();
    return wanted ? opened : nullptr;
  };
  for (const char* name : sonames)
    if (void* const loaded = open(name, RTLD_NOW | RTLD_NOLOAD)) return loaded;
  for (const std::string& path : candidates)
    if (void* const opened = open(path, RTLD_NOW)) return opened;
  for (const char* name : sonames)
    if (void* const opened = open(name, RTLD_NOW)) return opened;
  throw CuptiError(
      "CUPTI is missing (libcupti.so.13 or .12): install the CUDA toolkit's, or nvidia-cuda-cupti "
      "from PyPI, or name the file in GPUCAST_CUPTI");
}

template <class Function>
void find(void* library, const char* name, Function& function) {
  void* const symbol = dlsym(library, name);
  if (symbol == nullptr) {
    throw CuptiError("CUPTI is too old (it lacks " + std::string(name) +
                     "): 12.8 or newer is needed");
  }
  function = reinterpret_cast<Function>(symbol);
}

}  // namespace

CuptiLibrary open_cupti(std::span<const std::string> candidates,
                        std::span<const std::string> without) {
  // It is never closed: CUPTI has threads of its own, and the driver calls it until the process
  // ends.
  void* const library = open_any(candidates, without);
  CuptiLibrary cupti;
#define GPUCAST_CUPTI_FIND(name) find(library, "cupti" #name, cupti.name);
  GPUCAST_CUPTI_FUNCTIONS(GPUCAST_CUPTI_FIND)
#undef GPUCAST_CUPTI_FIND
  cupti.NvtxInitialize2 =
      reinterpret_cast<decltype(cupti.NvtxInitialize2)>(dlsym(library, "cuptiNvtxInitialize2"));
  cupti.path = path_of(library);
  cupti.require(cupti.GetVersion(&cupti.version), "its version");
  if (cupti.version < oldest || cupti.version >= first_unknown) {
    throw CuptiError(cupti.path + " is CUPTI of version " + std::to_string(cupti.version) +
                     ", whose records are not known here: CUDA 12.8 to 13.x are");
  }
  return cupti;
}

void CuptiLibrary::require(CUptiResult result, const char* what) const {
  if (result == CUPTI_SUCCESS) return;
  const char* words = nullptr;
  if (GetResultString(result, &words) != CUPTI_SUCCESS || words == nullptr) words = "unknown error";
  const std::string reason =
      std::string(words) + " (" + std::to_string(static_cast<int>(result)) + ", " + what + ")";
  switch (result) {
    case CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED:
      throw CuptiError(
          "another profiler or debugger is attached to the program (" + reason +
          "): run it without nsys, ncu, cuda-gdb, compute-sanitizer or torch.profiler");
    case CUPTI_ERROR_UNKNOWN:  // there is no driver
    case CUPTI_ERROR_NOT_INITIALIZED:
      throw CuptiCannotStart("CUPTI cannot start, probably because it is newer than the driver (" +
                             reason + "; " + path + "): name an older libcupti in GPUCAST_CUPTI");
    case CUPTI_ERROR_INSUFFICIENT_PRIVILEGES:
    case CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES:
    case CUPTI_ERROR_VIRTUALIZED_DEVICE_NOT_SUPPORTED:
    case CUPTI_ERROR_CONFIDENTIAL_COMPUTING_NOT_SUPPORTED:
    case CUPTI_ERROR_CMP_DEVICE_NOT_SUPPORTED:
      throw CuptiError("this GPU, or its administrator, does not allow programs to be traced: " +
                       reason);
    default:
      throw CuptiError("CUPTI: " + reason);
  }
}

}  // namespace gpucast::trace
