// Owner of a file descriptor.
#pragma once

#include <unistd.h>

#include <utility>

namespace gpucast::support {

class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int number) noexcept : number_(number) {}
  ~Descriptor() { reset(); }
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    if (this != &other) {
      reset();
      number_ = std::exchange(other.number_, -1);
    }
    return *this;
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  int get() const noexcept { return number_; }
  explicit operator bool() const noexcept { return number_ >= 0; }

  // Gives up ownership; the caller has to close it.
  int release() noexcept { return std::exchange(number_, -1); }

  // Returns the result of close(2), or 0 if there is nothing to close.
  int reset() noexcept {
    const int number = std::exchange(number_, -1);
    return number < 0 ? 0 : ::close(number);
  }

 private:
  int number_ = -1;
};

}  // namespace gpucast::support
