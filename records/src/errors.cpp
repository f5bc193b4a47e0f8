#include "gpucast/records/errors.h"

namespace gpucast::records {

int exit_status(const std::exception& error) noexcept {
  return dynamic_cast<const InputError*>(&error) != nullptr ? 2 : 1;
}

}  // namespace gpucast::records
