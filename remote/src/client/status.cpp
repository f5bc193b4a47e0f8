#include "client/status.h"

#include <cctype>
#include <iterator>
#include <map>

namespace gpucast::remote::client {
namespace {

struct Known {
  cudaError_t error;
  const char* name;
};

constexpr Known known[] = {
#define GPUCAST_ERROR(name) {name, #name},
#include "client/errors.inc"  // generated from CUDA's headers (CMakeLists.txt)
#undef GPUCAST_ERROR
};

// The errors that programs print most; other texts are derived from the names.
constexpr std::pair<cudaError_t, const char*> texts[] = {
    {cudaSuccess, "no error"},
    {cudaErrorInvalidValue, "invalid argument"},
    {cudaErrorMemoryAllocation, "out of memory"},
    {cudaErrorInitializationError, "initialization error"},
    {cudaErrorInvalidConfiguration, "invalid configuration argument"},
    {cudaErrorInvalidDeviceFunction, "invalid device function"},
    {cudaErrorNoDevice, "no CUDA-capable device is detected"},
    {cudaErrorInvalidDevice, "invalid device ordinal"},
    {cudaErrorInvalidResourceHandle, "invalid resource handle"},
    {cudaErrorNotReady, "device not ready"},
    {cudaErrorIllegalAddress, "an illegal memory access was encountered"},
    {cudaErrorLaunchFailure, "unspecified launch failure"},
    {cudaErrorNotSupported, "operation not supported (on remote GPUs)"},
    {cudaErrorDevicesUnavailable, "the remote GPU or its server is not available"},
    {cudaErrorNoKernelImageForDevice, "no kernel image is available for execution on the device"},
    {cudaErrorUnknown, "unknown error"},
};

// For example, "cudaErrorInvalidSurface" becomes "invalid surface".
std::string words_of(const std::string& name) {
  std::string result;
  for (const char c : name.substr(std::string("cudaError").size())) {
    const bool capital = std::isupper(static_cast<unsigned char>(c)) != 0;
    if (capital && !result.empty()) result += ' ';
    result += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return result;
}

std::map<cudaError_t, std::string> all_texts() {
  std::map<cudaError_t, std::string> result(std::begin(texts), std::end(texts));
  for (const Known& entry : known)
    if (!result.contains(entry.error)) result[entry.error] = words_of(entry.name);
  return result;
}

}  // namespace

cudaError_t to_error(Status status) {
  for (const Known& entry : known)
    if (static_cast<Status>(entry.error) == status) return entry.error;
  return cudaErrorUnknown;
}

const char* error_name(cudaError_t error) {
  for (const Known& entry : known)
    if (entry.error == error) return entry.name;
  return "unrecognized error code";
}

const char* error_text(cudaError_t error) {
  static const auto* const all = new std::map(all_texts());  // may be read after main has ended
  const std::string* const text = value_at(*all, error);
  return text == nullptr ? "unrecognized error code" : text->c_str();
}

}  // namespace gpucast::remote::client
