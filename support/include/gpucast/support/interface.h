// The base of interfaces: their objects are owned by pointers to the interface, and are not copied.
#pragma once

namespace gpucast::support {

class Interface {
 public:
  Interface() = default;
  Interface(const Interface&) = delete;
  Interface& operator=(const Interface&) = delete;
  virtual ~Interface() = default;
};

}  // namespace gpucast::support
