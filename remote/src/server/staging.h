// Pinned memory for copies that travel within their message.
#pragma once

#include <vector>

#include "protocol/limits.h"
#include "server/driver.h"

namespace gpucast::remote {

class Staging {
 public:
  explicit Staging(const Driver& driver) : driver_(&driver) {}
  ~Staging() = default;
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;

  // most_inline bytes; nullptr while all are in use. DriverError if none can be made.
  std::byte* take();
  void give_back(std::byte* slot) { free_.push_back(slot); }

 private:
  // Never freed: the process ends with the client.
  void grow();

  const Driver* driver_;
  std::vector<std::byte*> free_;
  std::size_t made_ = 0;
};

}  // namespace gpucast::remote
