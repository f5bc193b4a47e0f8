// How every entry point of the CUDA runtime is written:
//
//   return entry<"cudaName">([&] { ...; return cudaSuccess; });
//
// It is counted, nothing is thrown through it, and its error is what cudaGetLastError() gives.
#pragma once

#include <algorithm>
#include <cstddef>
#include <exception>
#include <new>

#include "client/runtime.h"

namespace gpucast::remote::client {

template <std::size_t n>
struct Name {
  constexpr Name(const char (&given)[n]) { std::copy_n(given, n, text); }  // from a literal
  char text[n] = {};
};

inline cudaError_t remember(cudaError_t error) {
  if (error != cudaSuccess) this_thread().last_error = error;
  return error;
}

template <Name name, class Body>
cudaError_t entry(Body body) noexcept {
  static Counter& counter = runtime().counters.of(name.text);
  const Counted counted(counter);
  try {
    return remember(body());
  } catch (const Failure& failure) {
    return remember(failure.error);
  } catch (const std::bad_alloc&) {
    return remember(cudaErrorMemoryAllocation);
  } catch (const std::exception&) {
    return remember(cudaErrorUnknown);
  }
}

// The default stream of entry points whose names end in _ptsz or _ptds.
inline cudaStream_t own(cudaStream_t stream) {
  return stream == nullptr ? cudaStreamPerThread : stream;
}

}  // namespace gpucast::remote::client
