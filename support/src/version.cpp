#include "gpucast/support/version.h"

namespace gpucast::support {

const char* const version = GPUCAST_VERSION;

}  // namespace gpucast::support
