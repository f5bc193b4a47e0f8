// Names of CUDA's calls, and which of them are not worth a record.
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
  if (!std::ranges::all_of(digits, [](unsigned char each) { return std::isdigit(each) != 0; })) {
    return false;
  }
  name.remove_suffix(name.size() - underscore);
  return true;
}

inline bool cut(std::string_view& name, std::string_view end) {
  if (!name.ends_with(end)) return false;
  name.remove_suffix(end.size());
  return true;
}

// Functions of the runtime, each between blanks. Our client answers these without its server
// (remote/src/client), DS-CUDA's and others' do.
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

// Beginnings of names of the driver's functions that make something happen beyond the host's
// memory. What a program asks through the runtime comes as a call of that; cuKernelGetName, which
// precedes each launch, would cost as much as the launch's own record.
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

// `cudaMemcpyAsync_ptsz_v7000` is cudaMemcpyAsync, `cuMemcpyHtoDAsync_v2` is cuMemcpyHtoDAsync.
inline std::string plain_name(std::string_view cupti_name) {
  // Several of them, in any order: `cudaStreamGetCaptureInfo_v2_ptsz_v11030`.
  while (names::cut_version(cupti_name) || names::cut(cupti_name, "_ptsz") ||
         names::cut(cupti_name, "_ptds")) {
  }
  // What nvcc's code calls from CUDA 13 on.
  if (cupti_name == "__cudaLaunchKernel") cupti_name.remove_prefix(2);
  return std::string(cupti_name);
}

// Which functions are recorded, by their plain names: of the runtime's, all but those that stay on
// the host; of the driver's, those that go beyond it. What stays on the host returns at once, asks
// nothing of a GPU, and no way of forwarding calls sends it anywhere. Some programs make several of
// such calls for each launch, and a record costs more than the call.
inline bool stays_on_host(std::string_view plain_name) {
  return names::local.find(" " + std::string(plain_name) + " ") != std::string_view::npos;
}
inline bool goes_beyond_host(std::string_view plain_name) {
  return std::ranges::any_of(names::beyond_host | std::views::split(' '), [&](const auto& word) {
    const std::string_view begin(word.begin(), word.end());
    return !begin.empty() && plain_name.starts_with(begin);
  });
}

// Whether it launches one kernel.
inline bool launches_kernel(std::string_view plain_name) {
  return plain_name.starts_with("cudaLaunchKernel") || plain_name.starts_with("cuLaunchKernel") ||
         plain_name.starts_with("cudaLaunchCooperativeKernel") ||
         plain_name.starts_with("cuLaunchCooperativeKernel");
}

// Whether it asks if work is done, and does not wait for it.
inline bool is_query(std::string_view plain_name) {
  return plain_name == "cudaEventQuery" || plain_name == "cudaStreamQuery" ||
         plain_name == "cuEventQuery" || plain_name == "cuStreamQuery";
}

}  // namespace gpucast::trace
