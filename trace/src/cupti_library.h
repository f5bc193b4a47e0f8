// CUPTI, opened at run time: it has to match the machine's driver, and a program may bring its own.
#pragma once

#include <cupti.h>

#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>

namespace gpucast::trace {

// The reason why nothing is recorded, as one line for the user.
struct CuptiError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// This version of CUPTI cannot start, but another one may.
struct CuptiCannotStart : CuptiError {
  using CuptiError::CuptiError;
};

// The functions of CUPTI in use, by their names without `cupti`.
struct CuptiLibrary {
#define GPUCAST_CUPTI_FUNCTIONS(each)                                                             \
  each(GetVersion) each(Subscribe) each(GetTimestamp) each(GetCallbackName) each(GetResultString) \
      each(ActivitySetAttribute) each(ActivityRegisterCallbacks) each(ActivityEnable)             \
          each(ActivityDisable) each(ActivityFlushAll) each(ActivityGetNextRecord)                \
              each(ActivityGetNumDroppedRecords) each(ActivityEnableRuntimeApi)                   \
                  each(ActivityEnableDriverApi) each(ActivityEnableAllSyncRecords)
// NOLINTNEXTLINE(bugprone-macro-parentheses): a declaration
#define GPUCAST_CUPTI_DECLARE(name) decltype(&cupti##name) name = nullptr;
  GPUCAST_CUPTI_FUNCTIONS(GPUCAST_CUPTI_DECLARE)
#undef GPUCAST_CUPTI_DECLARE
  CUptiResult (*NvtxInitialize2)(void*) = nullptr;  // may be missing; no header declares it

  std::string path;  // of the file that was opened
  // In the numbering of cuptiGetVersion: 26 is 12.8, 130001 is 13.0 Update 1.
  std::uint32_t version = 0;

  // Throws CuptiError with `what` and CUPTI's own text if `result` is an error.
  void require(CUptiResult result, const char* what) const;
  // Whether NVTX ranges can be recorded. CUPTI 13.0.0 crashes if a program names its threads
  // (github.com/NVIDIA/NVTX/issues/125).
  [[nodiscard]] bool knows_ranges() const {
    return NvtxInitialize2 != nullptr && version != 130000;
  }
};

// Returns the library that the program has loaded already, or the first of `candidates` (paths)
// that can be opened, or the one that the loader finds; libraries in `without` (CuptiLibrary::path)
// are skipped. Throws CuptiError if there is none, or its records are unknown.
CuptiLibrary open_cupti(std::span<const std::string> candidates,
                        std::span<const std::string> without = {});

}  // namespace gpucast::trace
