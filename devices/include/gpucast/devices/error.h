// What devices throw.
#pragma once

#include <stdexcept>

namespace gpucast::devices {

// A device failed, or what it was given did: out of memory, a kernel's fault, a lost GPU. It is not
// to be used any more.
class DeviceError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace gpucast::devices
