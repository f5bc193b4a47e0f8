// Entry points for the CUDA driver and NVTX in a program that `gpucast trace` has started: they
// load the library that CUDA_INJECTION64_PATH and NVTX_INJECTION64_PATH name.
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <utility>
#include <vector>

#include "cupti_library.h"
#include "process_folder.h"
#include "recorder.h"
#include "settings.h"

#define GPUCAST_EXPORTED extern "C" __attribute__((visibility("default")))

namespace gpucast::trace {
namespace {

// The recorder is never destroyed: CUPTI calls it as long as the process lives.
Recorder*& recorder() {
  static Recorder* it = nullptr;
  return it;
}

void finish() {
  if (recorder() != nullptr) recorder()->finish();
}

// Takes the first CUPTI library that starts: one that is newer than the driver does not.
Recorder* make_recorder(const Settings& settings) {
  std::vector<std::string> refused;
  std::string why;
  for (;;) {
    CuptiLibrary cupti;
    try {
      cupti = open_cupti(settings.cupti, refused);
    } catch (const CuptiError&) {
      if (why.empty()) throw;
      throw CuptiError(why);  // of the best library
    }
    const std::string path = cupti.path;
    try {
      return new Recorder(std::move(cupti), settings);
    } catch (const CuptiCannotStart& error) {
      refused.push_back(path);
      if (why.empty()) why = error.what();
    }
  }
}

int begin() noexcept {
  const Settings settings = settings_from_environment();
  if (settings.folder.empty() || recorder() != nullptr) return 1;
  try {
    recorder() = make_recorder(settings);
    std::atexit(finish);
  } catch (const std::exception& error) {
    // The program continues without being recorded.
    std::fprintf(stderr, "gpucast trace: nothing is recorded: %s\n", error.what());
    report_problem(settings.folder, error.what());
  }
  return 1;
}

// Returns nonzero if NVTX should use the table, which CUPTI fills.
int begin_ranges(void* get_export_table) noexcept {
  const Settings settings = settings_from_environment();
  if (settings.folder.empty()) return 0;
  try {
    const CuptiLibrary cupti = open_cupti(settings.cupti);
    const bool known = cupti.knows_ranges();
    const CUptiResult result =
        known ? cupti.NvtxInitialize2(get_export_table) : CUPTI_ERROR_NOT_SUPPORTED;
    if (std::getenv("GPUCAST_TRACE_LOG") != nullptr) {
      std::fprintf(stderr, "gpucast trace: NVTX: %s (%u) says %d\n", cupti.path.c_str(),
                   cupti.version, static_cast<int>(result));
    }
    return result == CUPTI_SUCCESS ? 1 : 0;
  } catch (const std::exception&) {
    return 0;  // errors are reported when recording begins
  }
}

}  // namespace
}  // namespace gpucast::trace

GPUCAST_EXPORTED int InitializeInjection() { return gpucast::trace::begin(); }

GPUCAST_EXPORTED int InitializeInjectionNvtx2(void* get_export_table) {
  return gpucast::trace::begin_ranges(get_export_table);
}
