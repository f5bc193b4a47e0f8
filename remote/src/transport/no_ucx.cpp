// In builds that found no header of UCX's.
#include "system_library.h"
#include "transport/ucx_connection.h"

namespace gpucast::remote {

bool has_ucx() { return false; }

std::unique_ptr<Connection> meet_over_ucx(Connection& /*greeted*/, support::Descriptor /*line*/,
                                          bool /*begins*/, const Deadline& /*deadline*/) {
  throw MissingLibrary("this build has no UCX");
}

}  // namespace gpucast::remote
