// CUPTI, opened at run time: it belongs to the driver of the machine, and a program may have its
// own.
#pragma once

#include <cupti.h>

#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>

namespace gpucast::trace {

// Why there is no recording: one line for the user.
struct CuptiError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Another version of CUPTI may start.
struct CuptiCannotStart : CuptiError {
  using CuptiError::CuptiError;
};

// The functions that are used, by the names that they have in CUPTI without `cupti`.
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
  CUptiResult (*NvtxInitialize2)(void*) = nullptr;  // may lack; in no header

  std::string path;           // of the file that was opened
  std::uint32_t version = 0;  // as cuptiGetVersion counts: 26 is 12.8, 130001 is 13.0 Update 1

  // Throws CuptiError with `what` and CUPTI's own words where `result` is no success.
  void require(CUptiResult result, const char* what) const;
  // Whether NVTX's ranges can be recorded. 13.0.0 jumps to nowhere where a program names its
  // threads (github.com/NVIDIA/NVTX/issues/125).
  [[nodiscard]] bool knows_ranges() const {
    return NvtxInitialize2 != nullptr && version != 130000;
  }
};

// The one that the program has loaded already, else the first of `candidates` (paths) that can be
// opened, else what the loader finds; none that is in `without` (CuptiLibrary::path). Throws
// CuptiError where there is none, or its records are not understood.
CuptiLibrary open_cupti(std::span<const std::string> candidates,
                        std::span<const std::string> without = {});

}  // namespace gpucast::trace
