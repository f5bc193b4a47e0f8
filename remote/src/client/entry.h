// How every entry point of the CUDA runtime is written:
//
//   return ENTRY(what(it, does));
//   return entry([&] { ... });
//
// Each call is counted, no exception leaves it, and its error is what cudaGetLastError() returns:
// that of a Failure, or the status that the body returns, if any.
//
// A program compiled for per-thread default streams calls the entry points that take a stream by
// other names (_ptds, _ptsz), which CUDA's headers substitute where
// CUDA_API_PER_THREAD_DEFAULT_STREAM is defined. Sources that use `own` are compiled once without
// it and once with it.
#pragma once

#include <exception>
#include <new>
#include <type_traits>

#include "client/runtime.h"

namespace gpucast::remote::client {

inline cudaError_t remember(cudaError_t error) {
  if (error != cudaSuccess) this_thread().last_error = error;
  return error;
}

template <class Body>
cudaError_t entry(Body body, const char* name = __builtin_FUNCTION()) noexcept {
  static Counter& counter = runtime().counters.of(name);  // of the caller that the body belongs to
  const Counted counted(counter);
  try {
    if constexpr (std::is_same_v<decltype(body()), cudaError_t>) {
      return remember(body());
    } else {
      body();
      return cudaSuccess;
    }
  } catch (const Failure& failure) {
    return remember(failure.error);
  } catch (const std::bad_alloc&) {
    return remember(cudaErrorMemoryAllocation);
  } catch (const std::exception&) {
    return remember(cudaErrorUnknown);
  }
}
// NOLINTNEXTLINE(cppcoreguidelines-macro-usage): a lambda in a line, as most entry points are one
#define ENTRY(...) entry([&]() -> decltype(auto) { return __VA_ARGS__; })

// Returns the stream that a handle stands for in this compilation.
static inline cudaStream_t own(cudaStream_t stream) {
#ifdef CUDA_API_PER_THREAD_DEFAULT_STREAM
  if (stream == nullptr) return cudaStreamPerThread;
#endif
  return stream;
}
[[maybe_unused]] static OnStream on(cudaStream_t stream) { return runtime().stream(own(stream)); }

}  // namespace gpucast::remote::client
