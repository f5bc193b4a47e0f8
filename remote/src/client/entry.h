// How every entry point of the CUDA runtime is written:
//
//   return entry<"cudaName">([&] { ... });
//
// It is counted, nothing is thrown through it, and its error is what cudaGetLastError() gives: that
// of a Failure, or what the body returns if it returns anything.
#pragma once

#include <algorithm>
#include <cstddef>
#include <exception>
#include <new>
#include <type_traits>

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
    if constexpr (std::is_void_v<decltype(body())>) {
      body();
      return cudaSuccess;
    } else {
      return remember(body());
    }
  } catch (const Failure& failure) {
    return remember(failure.error);
  } catch (const std::bad_alloc&) {
    return remember(cudaErrorMemoryAllocation);
  } catch (const std::exception&) {
    return remember(cudaErrorUnknown);
  }
}

inline void require_valid(bool valid) {
  if (!valid) throw Failure{cudaErrorInvalidValue};
}

// To where the program wants it.
template <class Value>
void give(Value* place, const std::type_identity_t<Value>& value) {
  require_valid(place != nullptr);
  *place = value;
}

}  // namespace gpucast::remote::client
