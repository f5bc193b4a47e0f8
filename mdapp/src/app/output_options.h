// Where records go: options of commands that write some.
#pragma once

#include <string>

#include "gpucast/records/record_file.h"

namespace CLI {
class App;
}

namespace gpucast::mdapp {

class OutputOptions {
 public:
  void declare(CLI::App& command);
  const std::string& path() const { return path_; }
  records::IfExists if_exists() const;  // throws InputError

 private:
  std::string path_ = "-";
  bool append_ = false;
  bool force_ = false;
};

}  // namespace gpucast::mdapp
