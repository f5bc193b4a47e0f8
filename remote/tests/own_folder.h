// A folder for the servers' key, deleted after the test.
#pragma once

#include <cstdlib>

#include "temporary_folder.h"

namespace gpucast::remote {

class OwnFolder : public support::TemporaryFolder {
 public:
  // Servers that start from now on have their key and secret there.
  void use() const { ::setenv("XDG_RUNTIME_DIR", path().c_str(), 1); }
};

}  // namespace gpucast::remote
