#include "gpucast/support/errors.h"

namespace gpucast::support {

int exit_status(const std::exception& error) noexcept {
  return dynamic_cast<const InputError*>(&error) != nullptr ? 2 : 1;
}

}  // namespace gpucast::support
