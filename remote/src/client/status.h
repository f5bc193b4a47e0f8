// Statuses that the client itself gives. A driver's status and a runtime's error are the same
// number where both exist.
#pragma once

#include <driver_types.h>

#include <exception>
#include <optional>
#include <type_traits>

#include "protocol/calls.h"

namespace gpucast::remote::client {

inline constexpr Status status_lost = cudaErrorDevicesUnavailable;
inline constexpr Status status_bad_memory = cudaErrorInvalidValue;
inline constexpr Status status_no_kernel = cudaErrorInvalidDeviceFunction;
inline constexpr Status status_bad_image = cudaErrorInvalidKernelImage;

// cudaErrorUnknown for numbers that the runtime does not have.
cudaError_t to_error(Status status);

// "cudaErrorInvalidValue", and a few words; both for ever.
const char* error_name(cudaError_t error);
const char* error_text(cudaError_t error);

// A call that ends early.
class Failure : public std::exception {
 public:
  explicit Failure(cudaError_t its_error) : error(its_error) {}
  const char* what() const noexcept override { return error_text(error); }
  cudaError_t error;
};

inline void require(cudaError_t error) {
  if (error != cudaSuccess) throw Failure{error};
}
inline void require(Status status) {
  if (status != 0) throw Failure{to_error(status)};
}
inline void require_valid(bool valid) {
  if (!valid) throw Failure{cudaErrorInvalidValue};
}
template <class Value>
Value require_valid(const std::optional<Value>& value) {
  if (!value) throw Failure{cudaErrorInvalidValue};
  return *value;
}
// To where the program wants it.
template <class Value>
void give(Value* place, const std::type_identity_t<Value>& value) {
  require_valid(place != nullptr);
  *place = value;
}

// What the map holds for the key; nullptr where that is nothing.
template <class Map>
auto* value_at(Map& map, const typename Map::key_type& key) {
  const auto at = map.find(key);
  return at == map.end() ? nullptr : &at->second;
}

// What the body fails with; 0: it does not.
template <class Body>
Status status_of(Body body) {
  try {
    body();
    return 0;
  } catch (const Failure& failure) {
    return Status{failure.error};
  }
}

}  // namespace gpucast::remote::client
