// A folder for the servers' key, deleted after the test.
#pragma once

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>

namespace gpucast::remote {

class OwnFolder {
 public:
  OwnFolder() : path_((std::filesystem::temp_directory_path() / "gpucast-test-XXXXXX").string()) {
    if (::mkdtemp(path_.data()) == nullptr) throw std::runtime_error(path_);
  }
  ~OwnFolder() {
    if (::getpid() != owner_) return;  // in a child process that exits
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  OwnFolder(const OwnFolder&) = delete;
  OwnFolder& operator=(const OwnFolder&) = delete;
  const std::string& path() const { return path_; }

  // Servers that start from now on have their key and secret there.
  void use() const { ::setenv("XDG_RUNTIME_DIR", path_.c_str(), 1); }

 private:
  std::string path_;
  pid_t owner_ = ::getpid();
};

}  // namespace gpucast::remote
