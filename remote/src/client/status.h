// Statuses that the client itself returns. A driver status and a runtime error have the same number
// where both exist.
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

// Returns cudaErrorUnknown for numbers that the runtime does not have.
cudaError_t to_error(Status status);

// The name, such as "cudaErrorInvalidValue", and a short description; both live forever.
const char* error_name(cudaError_t error);
const char* error_text(cudaError_t error);

// Ends a call early.
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
// Writes a value to the program's pointer.
template <class Value>
void give(Value* place, const std::type_identity_t<Value>& value) {
  require_valid(place != nullptr);
  *place = value;
}

inline Address address_of(const void* memory) { return reinterpret_cast<Address>(memory); }

// Finds the key's value; nullptr if there is none.
template <class Map>
auto* value_at(Map& map, const typename Map::key_type& key) {
  const auto at = map.find(key);
  return at == map.end() ? nullptr : &at->second;
}

// The status with which the body fails, or 0.
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
