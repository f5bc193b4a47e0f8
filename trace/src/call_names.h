// Names of CUDA's calls, and the selection of calls that are recorded.
#pragma once

#include <algorithm>
#include <cctype>
#include <ranges>
#include <string>
#include <string_view>

namespace gpucast::trace {

namespace names {

// Cuts `_v` and digits off the end.
inline bool cut_version(std::string_view& name) {
  const std::size_t underscore = name.rfind("_v");
  if (underscore == std::string_view::npos || underscore + 2 == name.size()) return false;
  const std::string_view digits = name.substr(underscore + 2);
  if (!std::ranges::all_of(digits, [](unsigned char digit) { return std::isdigit(digit) != 0; }))
    return false;
  name.remove_suffix(name.size() - underscore);
  return true;
}

inline bool cut(std::string_view& name, std::string_view end) {
  if (!name.ends_with(end)) return false;
  name.remove_suffix(end.size());
  return true;
}

// Functions of the runtime, separated by blanks. Our client answers these without its server
// (remote/src/client), as DS-CUDA's and others' do.
inline constexpr std::string_view local =
    " __cudaGetKernel __cudaGetProcAddress __cudaInitModule __cudaPopCallConfiguration"
    " __cudaPushCallConfiguration __cudaRegisterFatBinary __cudaRegisterFatBinaryEnd"
    " __cudaRegisterFunction __cudaRegisterHostVar __cudaRegisterManagedVar"
    " __cudaRegisterUnifiedTable __cudaRegisterVar __cudaUnregisterFatBinary"
    " cudaCreateChannelDesc cudaDeviceGetAttribute cudaDeviceGetStreamPriorityRange"
    " cudaDriverGetVersion cudaFuncGetName cudaGetDevice cudaGetDeviceCount cudaGetDeviceFlags"
    " cudaGetDriverEntryPoint cudaGetDriverEntryPointByVersion cudaGetErrorName"
    " cudaGetErrorString cudaGetExportTable cudaGetLastError cudaPeekAtLastError"
    " cudaRuntimeGetVersion cudaSetDevice cudaStreamGetCaptureInfo cudaStreamGetDevice"
    " cudaStreamGetFlags cudaStreamGetId cudaStreamGetPriority cudaStreamIsCapturing"
    " cudaThreadExchangeStreamCaptureMode"
    " ";

// Beginnings of the names of driver functions that have an effect beyond the host's memory. Queries
// that a program makes through the runtime are recorded as calls of the runtime; cuKernelGetName,
// which precedes each launch, would take as long to record as the launch itself.
inline constexpr std::string_view beyond_host =
    " cuArray3DCreate cuArrayCreate cuArrayDestroy cuCtxCreate cuCtxDestroy cuCtxRecordEvent"
    " cuCtxSynchronize cuCtxWaitEvent cuDevicePrimaryCtxRe cuEvent cuGraphExecUpdate"
    " cuGraphInstantiate cuGraphLaunch cuGraphUpload cuGraphicsMap cuGraphicsUnmap"
    " cuGreenCtxCreate cuGreenCtxDestroy cuGreenCtxRecordEvent cuGreenCtxStreamCreate"
    " cuGreenCtxWaitEvent cuIpcCloseMemHandle cuIpcOpen cuLaunch cuLibraryLoad cuLibraryUnload"
    " cuLinkComplete cuMemAlloc cuMemBatchDecompressAsync cuMemCreate cuMemDiscard cuMemFree"
    " cuMemGetInfo cuMemHostAlloc cuMemHostRegister cuMemHostUnregister cuMemMap cuMemPoolTrimTo"
    " cuMemPrefetch cuMemRelease cuMemSetAccess cuMemUnmap cuMemcpy cuMemset"
    " cuMipmappedArrayCreate cuMipmappedArrayDestroy cuModuleLoad cuModuleUnload"
    " cuSignalExternalSemaphoresAsync cuStreamAddCallback cuStreamAttachMemAsync"
    " cuStreamBatchMemOp cuStreamBeginCapture cuStreamCreate cuStreamDestroy cuStreamEndCapture"
    " cuStreamQuery cuStreamSynchronize cuStreamWaitEvent cuStreamWaitValue cuStreamWriteValue"
    " cuWaitExternalSemaphoresAsync"
    " ";

}  // namespace names

// For example, `cudaMemcpyAsync_ptsz_v7000` is cudaMemcpyAsync, `cuMemcpyHtoDAsync_v2` is
// cuMemcpyHtoDAsync.
inline std::string plain_name(std::string_view cupti_name) {
  // There may be several suffixes in any order: `cudaStreamGetCaptureInfo_v2_ptsz_v11030`.
  while (names::cut_version(cupti_name) || names::cut(cupti_name, "_ptsz") ||
         names::cut(cupti_name, "_ptds")) {
  }
  // nvcc's code calls this one since CUDA 13.
  if (cupti_name == "__cudaLaunchKernel") cupti_name.remove_prefix(2);
  return std::string(cupti_name);
}

// Which functions are not recorded, by their plain names: runtime functions that stay on the host,
// and driver functions that do not go beyond it. A call that stays on the host returns at once,
// uses no GPU, and is never forwarded to a remote one. Some programs make several such calls for
// each launch, and recording one takes longer than the call.
inline bool stays_on_host(std::string_view plain_name) {
  return names::local.find(" " + std::string(plain_name) + " ") != std::string_view::npos;
}
inline bool goes_beyond_host(std::string_view plain_name) {
  return std::ranges::any_of(names::beyond_host | std::views::split(' '), [&](const auto& word) {
    const std::string_view begin(word.begin(), word.end());
    return !begin.empty() && plain_name.starts_with(begin);
  });
}

// Whether the function launches one kernel.
inline bool launches_kernel(std::string_view plain_name) {
  return plain_name.starts_with("cudaLaunchKernel") || plain_name.starts_with("cuLaunchKernel") ||
         plain_name.starts_with("cudaLaunchCooperativeKernel") ||
         plain_name.starts_with("cuLaunchCooperativeKernel");
}

// Whether the function queries whether work is finished, without waiting for it.
inline bool is_query(std::string_view plain_name) {
  return plain_name == "cudaEventQuery" || plain_name == "cudaStreamQuery" ||
         plain_name == "cuEventQuery" || plain_name == "cuStreamQuery";
}

}  // namespace gpucast::trace
