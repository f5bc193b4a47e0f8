#include "client/status.h"

#include <array>
#include <cctype>
#include <iterator>
#include <map>
#include <string>
#include <utility>

namespace gpucast::remote::client {
namespace {

struct Known {
  cudaError_t error;
  const char* name;
};

// clang-format off
constexpr Known known[] = {
#define GPUCAST_ERROR(name) {name, #name},
    GPUCAST_ERROR(cudaSuccess)
    GPUCAST_ERROR(cudaErrorInvalidValue)
    GPUCAST_ERROR(cudaErrorMemoryAllocation)
    GPUCAST_ERROR(cudaErrorInitializationError)
    GPUCAST_ERROR(cudaErrorCudartUnloading)
    GPUCAST_ERROR(cudaErrorProfilerDisabled)
    GPUCAST_ERROR(cudaErrorProfilerNotInitialized)
    GPUCAST_ERROR(cudaErrorProfilerAlreadyStarted)
    GPUCAST_ERROR(cudaErrorProfilerAlreadyStopped)
    GPUCAST_ERROR(cudaErrorInvalidConfiguration)
    GPUCAST_ERROR(cudaErrorInvalidPitchValue)
    GPUCAST_ERROR(cudaErrorInvalidSymbol)
    GPUCAST_ERROR(cudaErrorInvalidHostPointer)
    GPUCAST_ERROR(cudaErrorInvalidDevicePointer)
    GPUCAST_ERROR(cudaErrorInvalidTexture)
    GPUCAST_ERROR(cudaErrorInvalidTextureBinding)
    GPUCAST_ERROR(cudaErrorInvalidChannelDescriptor)
    GPUCAST_ERROR(cudaErrorInvalidMemcpyDirection)
    GPUCAST_ERROR(cudaErrorAddressOfConstant)
    GPUCAST_ERROR(cudaErrorTextureFetchFailed)
    GPUCAST_ERROR(cudaErrorTextureNotBound)
    GPUCAST_ERROR(cudaErrorSynchronizationError)
    GPUCAST_ERROR(cudaErrorInvalidFilterSetting)
    GPUCAST_ERROR(cudaErrorInvalidNormSetting)
    GPUCAST_ERROR(cudaErrorMixedDeviceExecution)
    GPUCAST_ERROR(cudaErrorNotYetImplemented)
    GPUCAST_ERROR(cudaErrorMemoryValueTooLarge)
    GPUCAST_ERROR(cudaErrorStubLibrary)
    GPUCAST_ERROR(cudaErrorInsufficientDriver)
    GPUCAST_ERROR(cudaErrorCallRequiresNewerDriver)
    GPUCAST_ERROR(cudaErrorInvalidSurface)
    GPUCAST_ERROR(cudaErrorDuplicateVariableName)
    GPUCAST_ERROR(cudaErrorDuplicateTextureName)
    GPUCAST_ERROR(cudaErrorDuplicateSurfaceName)
    GPUCAST_ERROR(cudaErrorDevicesUnavailable)
    GPUCAST_ERROR(cudaErrorIncompatibleDriverContext)
    GPUCAST_ERROR(cudaErrorMissingConfiguration)
    GPUCAST_ERROR(cudaErrorPriorLaunchFailure)
    GPUCAST_ERROR(cudaErrorLaunchMaxDepthExceeded)
    GPUCAST_ERROR(cudaErrorLaunchFileScopedTex)
    GPUCAST_ERROR(cudaErrorLaunchFileScopedSurf)
    GPUCAST_ERROR(cudaErrorSyncDepthExceeded)
    GPUCAST_ERROR(cudaErrorLaunchPendingCountExceeded)
    GPUCAST_ERROR(cudaErrorInvalidDeviceFunction)
    GPUCAST_ERROR(cudaErrorNoDevice)
    GPUCAST_ERROR(cudaErrorInvalidDevice)
    GPUCAST_ERROR(cudaErrorDeviceNotLicensed)
    GPUCAST_ERROR(cudaErrorSoftwareValidityNotEstablished)
    GPUCAST_ERROR(cudaErrorStartupFailure)
    GPUCAST_ERROR(cudaErrorInvalidKernelImage)
    GPUCAST_ERROR(cudaErrorDeviceUninitialized)
    GPUCAST_ERROR(cudaErrorMapBufferObjectFailed)
    GPUCAST_ERROR(cudaErrorUnmapBufferObjectFailed)
    GPUCAST_ERROR(cudaErrorArrayIsMapped)
    GPUCAST_ERROR(cudaErrorAlreadyMapped)
    GPUCAST_ERROR(cudaErrorNoKernelImageForDevice)
    GPUCAST_ERROR(cudaErrorAlreadyAcquired)
    GPUCAST_ERROR(cudaErrorNotMapped)
    GPUCAST_ERROR(cudaErrorNotMappedAsArray)
    GPUCAST_ERROR(cudaErrorNotMappedAsPointer)
    GPUCAST_ERROR(cudaErrorECCUncorrectable)
    GPUCAST_ERROR(cudaErrorUnsupportedLimit)
    GPUCAST_ERROR(cudaErrorDeviceAlreadyInUse)
    GPUCAST_ERROR(cudaErrorPeerAccessUnsupported)
    GPUCAST_ERROR(cudaErrorInvalidPtx)
    GPUCAST_ERROR(cudaErrorInvalidGraphicsContext)
    GPUCAST_ERROR(cudaErrorNvlinkUncorrectable)
    GPUCAST_ERROR(cudaErrorJitCompilerNotFound)
    GPUCAST_ERROR(cudaErrorUnsupportedPtxVersion)
    GPUCAST_ERROR(cudaErrorJitCompilationDisabled)
    GPUCAST_ERROR(cudaErrorUnsupportedExecAffinity)
    GPUCAST_ERROR(cudaErrorUnsupportedDevSideSync)
    GPUCAST_ERROR(cudaErrorContained)
    GPUCAST_ERROR(cudaErrorInvalidSource)
    GPUCAST_ERROR(cudaErrorFileNotFound)
    GPUCAST_ERROR(cudaErrorSharedObjectSymbolNotFound)
    GPUCAST_ERROR(cudaErrorSharedObjectInitFailed)
    GPUCAST_ERROR(cudaErrorOperatingSystem)
    GPUCAST_ERROR(cudaErrorInvalidResourceHandle)
    GPUCAST_ERROR(cudaErrorIllegalState)
    GPUCAST_ERROR(cudaErrorLossyQuery)
    GPUCAST_ERROR(cudaErrorSymbolNotFound)
    GPUCAST_ERROR(cudaErrorNotReady)
    GPUCAST_ERROR(cudaErrorIllegalAddress)
    GPUCAST_ERROR(cudaErrorLaunchOutOfResources)
    GPUCAST_ERROR(cudaErrorLaunchTimeout)
    GPUCAST_ERROR(cudaErrorLaunchIncompatibleTexturing)
    GPUCAST_ERROR(cudaErrorPeerAccessAlreadyEnabled)
    GPUCAST_ERROR(cudaErrorPeerAccessNotEnabled)
    GPUCAST_ERROR(cudaErrorSetOnActiveProcess)
    GPUCAST_ERROR(cudaErrorContextIsDestroyed)
    GPUCAST_ERROR(cudaErrorAssert)
    GPUCAST_ERROR(cudaErrorTooManyPeers)
    GPUCAST_ERROR(cudaErrorHostMemoryAlreadyRegistered)
    GPUCAST_ERROR(cudaErrorHostMemoryNotRegistered)
    GPUCAST_ERROR(cudaErrorHardwareStackError)
    GPUCAST_ERROR(cudaErrorIllegalInstruction)
    GPUCAST_ERROR(cudaErrorMisalignedAddress)
    GPUCAST_ERROR(cudaErrorInvalidAddressSpace)
    GPUCAST_ERROR(cudaErrorInvalidPc)
    GPUCAST_ERROR(cudaErrorLaunchFailure)
    GPUCAST_ERROR(cudaErrorCooperativeLaunchTooLarge)
    GPUCAST_ERROR(cudaErrorTensorMemoryLeak)
    GPUCAST_ERROR(cudaErrorNotPermitted)
    GPUCAST_ERROR(cudaErrorNotSupported)
    GPUCAST_ERROR(cudaErrorSystemNotReady)
    GPUCAST_ERROR(cudaErrorSystemDriverMismatch)
    GPUCAST_ERROR(cudaErrorCompatNotSupportedOnDevice)
    GPUCAST_ERROR(cudaErrorMpsConnectionFailed)
    GPUCAST_ERROR(cudaErrorMpsRpcFailure)
    GPUCAST_ERROR(cudaErrorMpsServerNotReady)
    GPUCAST_ERROR(cudaErrorMpsMaxClientsReached)
    GPUCAST_ERROR(cudaErrorMpsMaxConnectionsReached)
    GPUCAST_ERROR(cudaErrorMpsClientTerminated)
    GPUCAST_ERROR(cudaErrorCdpNotSupported)
    GPUCAST_ERROR(cudaErrorCdpVersionMismatch)
    GPUCAST_ERROR(cudaErrorStreamCaptureUnsupported)
    GPUCAST_ERROR(cudaErrorStreamCaptureInvalidated)
    GPUCAST_ERROR(cudaErrorStreamCaptureMerge)
    GPUCAST_ERROR(cudaErrorStreamCaptureUnmatched)
    GPUCAST_ERROR(cudaErrorStreamCaptureUnjoined)
    GPUCAST_ERROR(cudaErrorStreamCaptureIsolation)
    GPUCAST_ERROR(cudaErrorStreamCaptureImplicit)
    GPUCAST_ERROR(cudaErrorCapturedEvent)
    GPUCAST_ERROR(cudaErrorStreamCaptureWrongThread)
    GPUCAST_ERROR(cudaErrorTimeout)
    GPUCAST_ERROR(cudaErrorGraphExecUpdateFailure)
    GPUCAST_ERROR(cudaErrorExternalDevice)
    GPUCAST_ERROR(cudaErrorInvalidClusterSize)
    GPUCAST_ERROR(cudaErrorFunctionNotLoaded)
    GPUCAST_ERROR(cudaErrorInvalidResourceType)
    GPUCAST_ERROR(cudaErrorInvalidResourceConfiguration)
    GPUCAST_ERROR(cudaErrorUnknown)
#undef GPUCAST_ERROR
};
// clang-format on

// Those that programs print most; the others' texts are made of their names.
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

// "cudaErrorInvalidSurface" is "invalid surface".
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
  for (const Known& each : known) {
    if (!result.contains(each.error)) result[each.error] = words_of(each.name);
  }
  return result;
}

}  // namespace

cudaError_t to_error(Status status) {
  for (const Known& each : known) {
    if (static_cast<Status>(each.error) == status) return each.error;
  }
  return cudaErrorUnknown;
}

const char* error_name(cudaError_t error) {
  for (const Known& each : known) {
    if (each.error == error) return each.name;
  }
  return "unrecognized error code";
}

const char* error_text(cudaError_t error) {
  static const auto* const all = new std::map(all_texts());  // may be asked for after main
  const auto found = all->find(error);
  return found == all->end() ? "unrecognized error code" : found->second.c_str();
}

}  // namespace gpucast::remote::client
