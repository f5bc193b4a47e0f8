// What can go wrong, told apart by who can mend it. A program's main prints what() after its own
// name and exits with exit_status().
#pragma once

#include <cmath>
#include <exception>
#include <stdexcept>
#include <string>

namespace gpucast::support {

// What the user asked for cannot be done: an option, or a file that is in the way. Nothing has been
// written. One line that names the option or file, and what is wrong with it.
class InputError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Records could not be written in the middle of a run: disk full, reader gone.
class OutputError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// A device failed, or what it was given did: out of memory, a kernel's fault, a lost GPU. It is not
// to be used any more.
class DeviceError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Throws InputError with `otherwise` where a condition on the input does not hold.
inline void require(bool holds, const std::string& otherwise) {
  if (!holds) throw InputError(otherwise);
}

inline void require_positive(const std::string& option, double value) {
  require(std::isfinite(value) && value > 0, option + ": must be greater than 0");
}

inline void require_not_negative(const std::string& option, double value) {
  require(std::isfinite(value) && value >= 0, option + ": must not be negative");
}

// 2 for wrong input, 1 for everything else.
inline int exit_status(const std::exception& error) noexcept {
  return dynamic_cast<const InputError*>(&error) != nullptr ? 2 : 1;
}

}  // namespace gpucast::support
