// Kinds of errors, by who can correct them. A program's main prints what() after its own name and
// exits with exit_status().
#pragma once

#include <cmath>
#include <exception>
#include <stdexcept>
#include <string>

namespace gpucast::support {

// The user's request cannot be carried out, because of an option or an existing file. Nothing has
// been written. One line names the option or file, and the problem.
class InputError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Records could not be written during a run: the disk is full, or the reader is gone.
class OutputError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// A device, or its work, failed: out of memory, an error in a kernel, a lost GPU. It must not be
// used any more.
class DeviceError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Throws InputError with `otherwise` unless the condition holds.
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
